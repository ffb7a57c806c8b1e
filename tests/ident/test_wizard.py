"""The wizard by keys alone, over the real reducer, without devices."""

import random
from typing import Any

import pytest
from wizard_cases import CABINET, FakeMachine, contradicted, imprecise, live_fit, look_at, sees, until, wizard

from ident.live import DeviceLive
from ident.ui.wizard.screen import MainScreen
from ident.workflow import events as ev
from ident.workflow.machine import fold
from ident.workflow.quality import Verdict
from ident.workflow.state import WEIGHT, Phase, Target

SIZES = [(200, 60), (20, 5), (1, 1)]


def started(machine: FakeMachine) -> FakeMachine:
    machine.post(ev.Described(plan=CABINET.to_dict()))
    return machine


async def test_whole_measurement_costs_two_presses_per_take() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        presses = 0
        while machine.state.phase is not Phase.REVIEW:
            await pilot.press("space" if presses % 2 else "enter")
            presses += 1
        assert presses == 2 * (2 + len(CABINET.nodes))
        await pilot.press("enter")
        await until(lambda: app.state.phase is Phase.FINISHED)
        await sees(app, "cabinet.model.json")
        await pilot.press("enter")
    assert app.return_value == 0


async def test_describing_by_keys() -> None:
    machine = FakeMachine()
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"hinge", "tab", "right", "enter")  # a rotary joint on the root
        await pilot.press(*"lever", "tab", "f", "f", "enter")  # find out, and it hangs on the hinge
        await pilot.press(*"knob", "tab", "h", "tab", "tab", *"12,5", "enter")
        await sees(app, "lever")
        await pilot.press(*"root", "enter")
        await sees(app, "names the base")
        await pilot.press("ctrl+u", "enter")
        await until(lambda: isinstance(app.screen, MainScreen))
    assert [(n.name, n.kind, n.parent) for n in machine.state.plan] == [
        ("hinge", "rotary", "root"),
        ("lever", "auto", "hinge"),
        ("knob", "handle2", "lever"),
    ]
    assert machine.state.plan.node("knob").radius_m == pytest.approx(0.0125)
    assert machine.state.phase is Phase.READY


async def test_going_back_to_the_description_and_on_again() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("b")
        await until(lambda: app.state.phase is Phase.DESCRIBE)
        await sees(app, "top_handle")
        await pilot.press("f8", "f2")
        await until(lambda: app.state.phase is Phase.READY)
    assert "lever" not in machine.state.plan


async def test_a_tick_after_the_wizard_closed_does_no_harm() -> None:
    app = wizard(started(FakeMachine()))
    async with app.run_test(size=(80, 24)):
        pass
    app._tick()


async def test_screen_during_a_take_says_how_precise_and_what_to_do() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await sees(app, "● recording 3.2 s", "± 0.84°", "± 2.10 mm", "░")
        await sees(app, "axis ± 0.8°, position ± 2.1 mm; further, and back")
        await sees(app, "mocap 120 Hz tracking 8 ms", "F/T 1000 Hz 4.3 N", "380 of 384 seen")


async def test_verdict_names_reason_remedy_and_keys() -> None:
    machine = started(FakeMachine(imprecise()))
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*["enter"] * 6)
        await until(lambda: app.state.phase is Phase.VERDICT)
        await sees(app, "Add a take.")
        await sees(app, "accept all the same")
        await pilot.press("a")
        await until(lambda: app.state.target == Target("movement", "top_handle"))
        await sees(app, "! top 12.3°, as")


async def test_contradicted_type_is_changed_with_one_key() -> None:
    machine = started(FakeMachine(contradicted()))
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*["enter"] * 6)
        await until(lambda: app.state.phase is Phase.VERDICT)
        await sees(app, "it is rotary")
        machine.verdict = Verdict("80.0° of turn")
        await pilot.press("y")
        await pilot.pause()
    assert machine.state.plan.node("top").kind == "rotary"
    assert machine.state.target == Target("movement", "top_handle")


async def test_seldom_commands_are_two_keys_away() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*["enter"] * 6)
        await pilot.press("m", "n", "tab", *"cover", "enter")
        await until(lambda: "cover" in machine.state.plan)
        await pilot.press("m", "i", *"shelf", "tab", "p", "enter")
        await until(lambda: "shelf" in machine.state.plan)
        await pilot.press("m", "k", *"too dark here", "enter")
        await pilot.press("m", "g", "d", "enter")
        await until(lambda: machine.state.target == Target("movement", "door"))
        await pilot.press("m", "o", "left", "enter")
        await pilot.press("m", "x", "end", "escape", "p", "p")
        await pilot.pause()
    assert machine.state.remarks == ("too dark here",)
    assert machine.state.placed
    assert not machine.state.paused


async def test_lost_motion_capture_is_the_headline() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        machine.post(ev.DeviceChanged(device="mocap", lost=True, message="No NatNet frames from 10.0.0.1 for 2.0 s."))
        app._look = look_at(machine, mocap=DeviceLive(0.0, "silent", 2.0))
        await sees(app, "✗ mocap")
        await sees(app, "No NatNet frames from 10.0.0.1")
        await pilot.press("enter")
        await pilot.pause()
        assert machine.state.phase is Phase.READY
        machine.post(ev.DeviceChanged(device="mocap", lost=False, message="Back."))
        await pilot.press("enter")
        await pilot.pause()
    assert machine.state.phase is Phase.RECORDING


async def test_good_take_ends_by_itself_where_asked() -> None:
    machine = started(FakeMachine())
    app = wizard(machine, live_fit(verdict=Verdict("fine")), auto_end=True)
    look = app._look

    def resting() -> Any:
        from dataclasses import replace

        status = look()
        return status if status.take is None else replace(status, take=replace(status.take, resting_s=1.2))

    app._look = resting
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await until(lambda: len(machine.state.takes) == 1 and machine.state.phase is Phase.READY)
    assert machine.state.takes[0].t1_ns


async def test_quitting_asks_and_says_what_is_kept() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", "enter", "q")
        await sees(app, "1 finished take is in the session.")
        await pilot.press("n", "q", "y")
    assert app.return_value == 1


async def test_control_c_leaves_at_once() -> None:
    app = wizard(started(FakeMachine()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("m", "n", "ctrl+c")
    assert app.return_value == 1


async def test_failed_recorder_ends_the_wizard() -> None:
    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)):
        machine.failed = True
        machine.post(ev.Remark(text="x"))
        await until(lambda: not app.is_running)
    assert app.return_value == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("describe", [True, False])
async def test_every_size_shows_every_step(size: tuple[int, int], describe: bool) -> None:
    machine = FakeMachine() if describe else started(FakeMachine(imprecise()))
    app = wizard(machine)
    async with app.run_test(size=size) as pilot:
        for key in (
            "enter",
            "enter",
            "enter",
            "enter",
            "enter",
            "enter",
            "question_mark",
            "escape",
            "m",
            "i",
            "escape",
        ):
            await pilot.press(key)
        await pilot.resize_terminal(80, 24)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert app.is_running


@pytest.mark.parametrize("theme", ["dark", "light", "none"])
async def test_legible_in_light_dark_and_without_colour(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if theme == "none":
        monkeypatch.setenv("NO_COLOR", "1")
    machine = started(FakeMachine())
    app = wizard(machine, dark=theme != "light")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*["enter"] * 6)
        await sees(app, "✓ top")
        await sees(app, "▶ └ top_handle")


@pytest.mark.parametrize("seed", range(2))
async def test_random_keys_never_break_it(seed: int) -> None:
    rng = random.Random(seed)
    keys = [
        *"abcdefghijklmnoprstuvwxyz0123456789:?# ",
        "enter",
        "space",
        "escape",
        "tab",
        "up",
        "down",
        "left",
        "right",
    ]
    keys += ["f1", "f2", "f8", "f12", "delete", "backspace", "ctrl+a", "home", "end", "pageup", "ü", "漢"]
    machine = FakeMachine(rng.choice([imprecise(), contradicted(), Verdict("fine")]))
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(60):
            if rng.random() < 0.03:
                await pilot.resize_terminal(rng.randint(1, 120), rng.randint(1, 40))
            await pilot.press(rng.choice(keys))
        await pilot.pause()
        assert app.is_running
    assert fold(machine.log) == machine.state


async def test_pasted_text_is_no_sequence_of_keys() -> None:
    from textual.events import Paste

    machine = started(FakeMachine())
    app = wizard(machine)
    async with app.run_test(size=(80, 24)) as pilot:
        app.post_message(Paste("s\ns\ns\nqyqy"))
        await pilot.pause()
        assert app.is_running
    assert len(machine.log) == 2


async def test_weight_and_place_are_offered_and_shown() -> None:
    machine = FakeMachine()
    machine.offers = (WEIGHT,)
    app = wizard(started(machine))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("enter", "enter", "enter", "enter")
        await sees(app, "gripper weight", "six sides down")
        await pilot.press("enter", "enter")
        await sees(app, "512 g")
        while machine.state.phase is not Phase.REVIEW:
            await pilot.press("enter")
        await sees(app, "mark three points")
        await pilot.press("o")
        await sees(app, "place", "1 of 3")
        await pilot.press("b")
        await until(lambda: app.state.phase is Phase.REVIEW)
        await pilot.press("o", "enter", "enter", "enter", "enter", "enter", "enter")
        await sees(app, "3 points")
        await pilot.press("enter")
        await until(lambda: app.state.phase is Phase.FINISHED)
