"""The wizard over real sockets: objects identified from the first screen to the saved model by keys, or by trigger."""

import queue
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from wizard_cases import until

from bench.walk import Button
from devices.sim import SimulatedRig
from ident.config import RigConfig, Trigger
from ident.description import plan_from_tables
from ident.errors import IdentError
from ident.guided import Interface, guide
from ident.measure import Setup, measurement
from ident.model import load_model
from ident.runner import Runner
from ident.simulated import SimulatedHand, simulated_config
from ident.ui.wizard import WizardShell, wanted
from ident.workflow import events as ev
from ident.workflow.state import Phase, State

SPEED = 10.0
"""Times real time: the wizard, the plot and the devices share one machine."""
PATIENCE_S = 100.0
SETTLED = (Phase.READY, Phase.VERDICT, Phase.REVIEW, Phase.FINISHED)

Press = Callable[[], Awaitable[None]]


def settled(state: State) -> bool:
    # A device may be reported lost for a moment on a busy machine: then the operator waits.
    return state.phase in SETTLED and not state.lost


async def operate(runner: Runner, moved: "queue.SimpleQueue[ev.Event]", press: Press, save: Press) -> Counter[str]:
    """Do what the wizard asks for until the model is saved; presses by joint or handle, those for the tip by ``""``."""
    presses: Counter[str] = Counter()

    async def answer(press: Press, node: str) -> None:
        before = runner.state.phase
        await press()
        # What else happens meanwhile is no answer; a press while a device is lost is refused, and made again.
        await until(lambda: runner.failed or runner.state.phase is not before or bool(runner.state.lost), PATIENCE_S)
        presses[node] += runner.state.phase is not before

    def asked() -> bool:
        state = runner.state
        # A rig that a busy machine starves is checked again.
        complained = state.phase is Phase.CHECK and bool(state.problems)
        return settled(state) or complained or state.phase is Phase.RECORDING

    while runner.state.phase is not Phase.FINISHED:
        await until(lambda: runner.failed or asked(), PATIENCE_S)
        runner.raise_failure()
        state = runner.state
        if state.phase is Phase.REVIEW:
            await answer(save, "save")
            await until(lambda: runner.failed or runner.state.phase is Phase.FINISHED, PATIENCE_S)
        elif state.phase is Phase.CHECK:
            await press()
            await until(lambda checked=state: runner.failed or runner.state is not checked, PATIENCE_S)
        elif state.target is not None:
            if state.phase is Phase.RECORDING:
                await until(lambda: runner.failed or not moved.empty(), PATIENCE_S)
                moved.get()
            await answer(press, state.target.node)
    return presses


@pytest.mark.parametrize("by", ["keys", "trigger"])
@pytest.mark.parametrize("scene", ["door", "cabinet", "testbench"])
async def test_object_from_the_first_screen_to_the_saved_model(scene: str, by: str, tmp_path: Path) -> None:
    drawn = scene == "door" and by == "keys"
    shell = WizardShell(plot="png" if drawn else "off", plot_file=tmp_path / "live.png")
    button = Button()
    moved: queue.SimpleQueue[ev.Event] = queue.SimpleQueue()
    with SimulatedRig(object=scene, seed=1, speed=SPEED) as sim:
        plan, _ = plan_from_tables(sim.description())
        config = simulated_config(sim).model_copy(update={"trigger": Trigger(port=button.port)})
        setup = Setup(config, tmp_path / "session.mcap", tmp_path, speed=SPEED)
        with measurement(setup, shell.on_change) as m:
            # The hand moves once a take has begun; that it is done is the operator's to see, who then presses.
            m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, moved.put)
            with shell.opened(m, plan) as app:
                async with app.run_test(size=(80, 24)) as pilot:

                    async def key() -> None:
                        await pilot.press("enter")

                    async def trigger() -> None:
                        button.press(0.0)

                    presses = await operate(m.runner, moved, key if by == "keys" else trigger, key)
                    await until(lambda: app.state.phase is Phase.FINISHED)
                    await pilot.press("q")
            assert app.return_value == 0
            takes = Counter(take.target.node for take in m.runner.state.takes)
    assert set(load_model(tmp_path / f"{plan.name}.model.json").nodes) == {node.name for node in plan}
    assert all(0 < presses[node] <= 2 * count for node, count in takes.items())
    assert presses["save"] == 1
    assert drawn == (tmp_path / "live.png").exists()


def test_a_wizard_that_nobody_would_see_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert not wanted(), "Textual draws on standard error"
    with pytest.raises(IdentError, match="--ui line"):
        guide(RigConfig.model_validate({"mocap": {"server": "127.0.0.1", "body": "gripper"}}), None, folder=tmp_path,
              interface=Interface("wizard"))  # fmt: skip
