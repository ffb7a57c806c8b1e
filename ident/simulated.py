"""The simulated rig as part of the workstation: its configuration, and the hand that moves the gripper."""

import threading
from collections.abc import Callable
from typing import Any

from devices.errors import DeviceError
from devices.sim import SimulatedRig
from ident.config import ForceTorque, Mocap, RigConfig
from ident.workflow import events as ev
from ident.workflow.state import PLACE, STEPS, WEIGHT, State, Target

TOUCHED = ((0.6, 0.4, 0.9), (0.9, 0.4, 0.9), (0.6, 0.65, 0.95))
"""Points (m, in the world) that the simulated operator touches where a model is placed: around the calibration bar."""


def simulated_config(sim: SimulatedRig) -> RigConfig:
    """Rig configuration for a simulated rig that is running."""
    at = sim.endpoints
    return RigConfig(
        name="simulated",
        mocap=Mocap(
            server=at.host,
            command_port=at.natnet_command,
            data_port=at.natnet_data,
            multicast=at.multicast,
            interface=at.host if at.multicast else "",
            body="gripper",
        ),
        ft=ForceTorque(host=at.host, rdt_port=at.rdt, http_port=at.http),
    )


class SimulatedHand:
    """Makes the movement that each take asks for, and presses the trigger at its end.

    A first take is made as people do it; one that was asked for again is made with care.
    """

    def __init__(
        self,
        sim: SimulatedRig,
        ticks_to_host: Callable[[int], int],
        post: Callable[[ev.Event], None],
        *,
        style: str = "normal",
    ) -> None:
        self._sim = sim
        self._ticks_to_host = ticks_to_host
        self._post = post
        self._style = style
        self._starts: dict[int, int] = {}
        self._windows: dict[int, tuple[int, int]] = {}

    def begin(self, take: int, target: Target, state: State) -> None:
        """Make the movement in a thread of its own."""
        movements = [*ancestors_to_places(state, take), movement_for(target, state, self._style)]
        threading.Thread(target=self._perform, args=(take, movements), name="hand", daemon=True).start()

    def window(self, take: int) -> tuple[int, int] | None:
        """Host times between which the movement's frames lie."""
        return self._windows.get(take)

    def start(self, take: int) -> int | None:
        """Host time at which the movement itself starts; None where the hand is not there yet."""
        return self._starts.get(take)

    def _perform(self, take: int, movements: list[dict[str, Any]]) -> None:
        try:
            for movement in movements[:-1]:
                self._sim.perform(movement)
            self._sim.begin(movements[-1])
            self._starts[take] = self._ticks_to_host(self._sim.start_ticks())
            done = self._sim.wait()
            window = (self._ticks_to_host(done.start_ticks), self._ticks_to_host(done.stop_ticks))
        except DeviceError:
            # The rig went away in the middle: the take is given up, and made again when the rig is back.
            self._post(ev.Redo(take=take))
            return
        self._windows[take] = window
        self._post(ev.Proceed(take=take))


def movement_for(target: Target, state: State, style: str = "normal") -> dict[str, Any]:
    """The movement that a take asks the simulated operator for; one that is asked for again is made with care."""
    if target in STEPS[PLACE]:
        return {"kind": "probe", "point": list(TOUCHED[STEPS[PLACE].index(target)])}
    if target in STEPS[WEIGHT]:
        return {"kind": "free"}
    if not target.node:
        return {"kind": target.purpose}
    if target.purpose != "movement":
        return {"kind": "hold", "joint": target.node, "at": target.purpose.removesuffix("_limit")}
    again = sum(t.target == target for t in state.takes) > 1
    kind = "handle" if state.plan.node(target.node).is_handle else "joint"
    return {"kind": kind, "name": target.node, "style": "careful" if again else style}


def ancestors_to_places(state: State, take: int) -> list[dict[str, Any]]:
    """Bring ancestors to the ends at which they should stand; where the last take left them, they stand already."""
    places = state.takes[take].places
    return [{"kind": "place", "joint": name, "at": at} for name, at in places if isinstance(at, str)]
