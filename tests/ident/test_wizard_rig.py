"""The wizard over real sockets: an object identified from the first screen to the saved model by keys alone."""

from pathlib import Path

from textual.pilot import Pilot
from wizard_cases import until

from devices.sim import SimulatedRig
from ident.description import plan_from_tables
from ident.measure import Setup, measurement
from ident.model import load_model
from ident.runner import Runner
from ident.simulated import SimulatedHand, simulated_config
from ident.ui.wizard import WizardShell
from ident.workflow.state import Phase, State

SPEED = 4.0
"""Times real time: the wizard, the plot and the devices share one machine."""

SETTLED = (Phase.READY, Phase.VERDICT, Phase.REVIEW, Phase.FINISHED)


def settled(state: State) -> bool:
    return state.phase in SETTLED and not state.lost


async def press_enter(pilot: Pilot[int], runner: Runner) -> None:
    before = runner.state
    if before.phase is not Phase.FINISHED:
        await pilot.press("enter")
        await until(lambda: runner.state is not before)


async def test_door_by_the_enter_key_alone(tmp_path: Path) -> None:
    shell = WizardShell(plot="png", plot_file=tmp_path / "live.png")
    with SimulatedRig(object="door", seed=1, speed=SPEED) as sim:
        plan, _ = plan_from_tables(sim.description())
        setup = Setup(simulated_config(sim), tmp_path / "door.mcap", tmp_path, speed=SPEED)
        with measurement(setup, shell.on_change) as m:
            m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
            with shell.opened(m, plan) as app:
                async with app.run_test(size=(80, 24)) as pilot:
                    while m.runner.state.phase is not Phase.FINISHED:
                        # A device may be reported lost for a moment on a busy machine: then the operator waits.
                        await until(lambda: m.runner.failed or settled(m.runner.state), 100.0)
                        m.runner.raise_failure()
                        await press_enter(pilot, m.runner)
                    await until(lambda: app.state.phase is Phase.FINISHED)
                    await pilot.press("q")
            assert app.return_value == 0
    model = load_model(tmp_path / "door.model.json")
    assert set(model.nodes) == {node.name for node in plan}
    assert (tmp_path / "live.png").exists()
