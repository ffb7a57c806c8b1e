"""A whole workstation under full load, to be watched from outside: rig, session, wizard, live fit, live plot.

``python -m bench.full_load FOLDER REPORT BODIES PLOT SECONDS SAMPLES`` runs on a terminal (:mod:`bench.terminal`).
360 Hz poses and 7000 Hz wrenches come over loopback and are recorded, and one take runs all the time. Once it holds
SAMPLES, the watch begins and lasts for SECONDS; what was seen goes as JSON lines to the file REPORT.
"""

import json
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

from bench.terminal import Terminal
from devices.netft import NetFT, NetFTHealth
from devices.sim import SimulatedRig
from devices.sim.disturbances import Disturbances
from ident.description import plan_from_tables
from ident.measure import Measurement, Setup, measurement
from ident.rig import Rig
from ident.simulated import simulated_config
from ident.ui.wizard import WizardShell
from ident.workflow import events as ev
from ident.workflow.state import Phase

POSES_HZ, WRENCHES_HZ = 360, 7000
SESSION = "load.mcap"
TICKS_SPAN = 10**12
"""Ticks over which the mocap server's clock is told: 28 hours of 10 MHz."""
ENDING_S = 60.0
"""Real seconds that everything has to end."""


def main(folder: Path, report: Path, bodies: int, plot: str, seconds: float, samples: int) -> int:
    """Run the wizard until the watch has ended."""
    shell = WizardShell(plot=plot, plot_file=folder / "live.png")
    # Every frame is sent: what is lost is lost by us.
    unspoilt = Disturbances(lost_frames=0.0)
    with SimulatedRig(
        "door", mocap_hz=POSES_HZ, ft_hz=WRENCHES_HZ, extra_bodies=bodies - 1, disturbances=unspoilt
    ) as sim:
        plan, _ = plan_from_tables(sim.description())
        setup = Setup(simulated_config(sim), folder / SESSION, folder)
        with measurement(setup, shell.on_change) as m, shell.opened(m, plan) as app:
            watch = Watch(m, sim, shell, report, seconds, samples)
            thread = threading.Thread(target=watch.run, args=(app.leave,), daemon=True)
            thread.start()
            app.run()
            thread.join()
    return 0


class FullLoad:
    """The same, started on a terminal of its own and listened to from outside."""

    def __init__(self, folder: Path, bodies: int, plot: str, seconds: float, samples: int) -> None:
        self._report = folder / "report.jsonl"
        self._report.touch()
        words = [str(folder), str(self._report), str(bodies), plot, str(seconds), str(samples)]
        self.terminal = Terminal([sys.executable, "-m", "bench.full_load", *words], columns=120, rows=40)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.close()

    def said(self) -> list[dict[str, Any]]:
        """Everything that was reported so far."""
        return [json.loads(line) for line in self._report.read_text().splitlines()]

    def wait_until_begun(self) -> None:
        """Let the take become as long as it should be."""
        while not self.said():
            if self.terminal.process.poll() is not None:
                raise RuntimeError(f"the wizard ended: {self.terminal.last.decode(errors='replace')}")
            self.terminal.drain(0.2)

    def result(self, seconds: float = 0.0) -> dict[str, Any]:
        """Wait for the end, which is to come after so many seconds, and give the last report."""
        self.terminal.run_out(seconds + ENDING_S)
        return self.said()[-1]


class Watch:
    """Leads the wizard into a take, keeps the door moving, and counts."""

    def __init__(
        self, m: Measurement, sim: SimulatedRig, shell: WizardShell, report: Path, seconds: float, samples: int
    ) -> None:
        self._m, self._sim, self._shell = m, sim, shell
        self._report, self._seconds, self._samples = report, seconds, samples
        self._stop = threading.Event()

    def run(self, leave: Any) -> None:
        """Do it all; ends the wizard."""
        try:
            self._watch()
        finally:
            self._stop.set()
            leave()

    def _watch(self) -> None:
        runner, live = self._m.runner, self._shell.live
        while runner.state.phase is not Phase.READY:
            time.sleep(0.05)
        runner.post(ev.Skip())
        runner.post(ev.Proceed())
        hand = threading.Thread(target=self._keep_moving, daemon=True)
        hand.start()
        while live is None or live.track is None or live.track.samples < self._samples:
            time.sleep(0.2)
            live = self._shell.live
        before, used, begun = _losses(self._m.rig), time.process_time(), time.monotonic()
        self._say({"begun": True, "samples": live.track.samples})
        fits, last, told = 0, live.track, 0
        while (passed := time.monotonic() - begun) < self._seconds:
            # Three times as often as the fit is renewed, so that none is overlooked; each look costs microseconds.
            time.sleep(0.025)
            fits += live.track is not last
            last = live.track
            if passed >= 30.0 * (told + 1):
                told += 1
                self._say({"t": passed, "rss_mib": _resident_mib(), "share": (time.process_time() - used) / passed})
        passed = time.monotonic() - begun
        mocap, ft, recorder = self._m.rig.mocap.health(), _ft(self._m.rig), self._m.recorder.health()
        after, ticks_to_host = _losses(self._m.rig), self._m.rig.mocap.ticks_to_host
        self._say(
            {
                "seconds": passed,
                "fits_hz": fits / passed,
                "samples": last.samples,
                "fit": last.fit.verdict.summary if last.fit is not None else "",
                "note": live.note,
                "share": (time.process_time() - used) / passed,
                "rss_mib": _resident_mib(),
                "most_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "mocap_hz": mocap.rate_hz,
                "ft_hz": ft.rate_hz,
                "ft_delivered": ft.account.delivered,
                "stalls": recorder.stalls,
                **{name: after[name] - before[name] for name in after},
                "ticks_zero_ns": ticks_to_host(0),
                "ticks_span": TICKS_SPAN,
                "ticks_span_ns": ticks_to_host(TICKS_SPAN) - ticks_to_host(0),
            }
        )
        self._stop.set()
        hand.join()

    def _keep_moving(self) -> None:
        while not self._stop.is_set():
            self._sim.perform({"kind": "joint", "name": "hinge", "style": "careful"})

    def _say(self, words: dict[str, Any]) -> None:
        with self._report.open("a") as file:
            file.write(json.dumps(words) + "\n")


def _losses(rig: Rig) -> dict[str, int]:
    mocap, ft = rig.mocap.health(), _ft(rig)
    return {
        "mocap_frames": mocap.frames,
        "mocap_lost": mocap.lost_frames,
        "mocap_kernel_drops": mocap.kernel_drops,
        "ft_lost": ft.account.lost,
        "ft_kernel_drops": ft.kernel_drops,
    }


def _ft(rig: Rig) -> NetFTHealth:
    if not isinstance(rig.ft, NetFT):
        raise TypeError("the simulated rig has a Net F/T")
    return rig.ft.health()


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    _, folder, report, bodies, plot, seconds, samples = sys.argv
    sys.exit(main(Path(folder), Path(report), int(bodies), plot, float(seconds), int(samples)))
