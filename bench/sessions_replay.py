"""Replay against real time: the drivers' decoders alone, and the whole command as a person runs it.

python -m bench.sessions_replay [SESSION...]

Without a session, one is measured first by the demonstration: 120 Hz of poses, 1000 Hz of loads, a minute and a half.
The processor time of the command tells what it takes where others use the machine too: it is divided by two processors
only as far as its work allows.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ident.playback import Playback
from sessions import open_session
from sessions.replay import play

GOAL = 100.0
ROUNDS = 5


def main(sessions: list[Path]) -> int:
    """Measure each session; the exit status says whether one was played too slowly, or differently."""
    with tempfile.TemporaryDirectory() as folder:
        if not sessions:
            run_ident("demo", "--out", folder)
            sessions = [Path(folder) / "door.mcap"]
        return sum(not measured(session) for session in sessions)


def measured(path: Path) -> bool:
    """Print how fast a session is decoded, and replayed by the command; whether that is fast enough."""
    session = open_session(path)
    playback = Playback(session, [], lambda _: None)
    cpu = time.process_time()
    played = play(session, playback.feed, speed=None)
    playback.finish()
    cpu = time.process_time() - cpu
    again = len(playback.body.window(0, 2**62)) + (len(playback.wrenches.window(0, 2**62)) if playback.wrenches else 0)
    recorded = len(session.poses(playback.body.body)) + len(session.wrenches())
    print(f"{path.name}: {played.session_s:.0f} s, {played.datagrams} datagrams, samples again: {again} of {recorded}")
    print(f"  decoders alone     {played.session_s / cpu:5.0f} times real time")
    rounds = [run_ident("replay", str(path), "--speed", "max") for _ in range(ROUNDS)]
    wall, used = min(wall for wall, _ in rounds), min(used for _, used in rounds)
    print(f"  the whole command  {played.session_s / wall:5.0f} times real time ({wall:.2f} s; goal {GOAL:.0f} times)")
    print(f"  processor time     {used:.2f} s of both processors together")
    return played.session_s / wall >= GOAL


def run_ident(*words: str) -> tuple[float, float]:
    """Run a command; real and processor seconds that it took. A replay that differs is an error."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "ident.cli", *words], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("session", nargs="*", type=Path, help="sessions of a rig (default: a demonstration)")
    sys.exit(main(parser.parse_args().session))
