"""Play a session through decoders, buffers and workflow again.

The recorded datagrams go through the drivers' own decoders, the recorded answers of operator and devices through
the workflow, and every calibration and fit is computed again. The same model comes out, bit for bit, and its
digest is compared with that of the recorded one.

With `--serve`, nothing is computed: the session's datagrams are streamed out on UDP as NatNet and RDT, so that
another program, or another computer, sees the rig again.

With `--plot`, the plots of the measurement are drawn again while it plays; give a speed to follow them.

examples:
  ident replay door.mcap
  ident replay door.mcap --speed 2 --plot window
  ident replay door.mcap --speed 1 --from 3
  ident replay door.mcap --serve
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("session", help="session file, or its name in the session folder")
    parser.add_argument("--speed", default="max", metavar="X|max", help="session seconds per second (default: max)")
    parser.add_argument("--from", dest="from_take", type=int, default=0, metavar="TAKE", help="start at a take")
    parser.add_argument(
        "--plot",
        choices=("window", "png", "off"),
        default="off",
        help="the live plot in a window, or refreshed in OUT/live.png (default: off)",
    )
    parser.add_argument("--out", type=Path, help="folder for model, URDF and figure of the replay")
    parser.add_argument("--serve", action="store_true", help="stream the session out as NatNet and RDT instead")


def run(args: argparse.Namespace) -> int:
    """Replay or serve."""
    import gc

    # Libraries stay: searching them for garbage while they load, and later at the usual rate, costs a tenth of all.
    gc.disable()
    gc.set_threshold(100_000, 50, 100)
    from sessions import find_session

    path = find_session(args.session)
    speed = _speed(args.speed)
    return _serve(path, speed or 1.0) if args.serve else _replay(path, speed, args.from_take, args.plot, args.out)


def _speed(text: str) -> float | None:
    from ident.errors import IdentError

    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.0 < speed <= 1e4:
        raise IdentError(f"--speed {text} is no speed; give a number above 0, or `max`.")
    return speed


def _replay(path: Path, speed: float | None, from_take: int, plot: str, out: Path | None) -> int:
    import gc
    import sys

    from ident.decoding import decoding

    folder = Path() if out is None else _prepared(out)
    with decoding(path, from_take, wanted=speed is None and plot == "off") as begun:
        from ident.replaying import PlotSettings, replay
        from ident.ui.lines import Lines

        lines = Lines(sys.stdout, guide=False)
        settings = PlotSettings(plot, folder / "live.png", lambda note: print(note, file=sys.stderr))
        gc.freeze()
        gc.enable()
        done = replay(path, speed=speed, from_take=from_take, on_state=lines.show, plot=settings, begun=begun)
    played = done.played
    whole_s = _since_start_s() or played.real_s
    print(
        f"Played {played.datagrams} datagrams and fitted again: {played.session_s:.1f} s of the session in "
        f"{played.real_s:.2f} s, {played.speed:.3g} times real time; {played.session_s / whole_s:.3g} times with the "
        f"start of the program ({whole_s:.2f} s).\nModel of the replay: {done.digest[:16]}"
    )
    if done.incomplete:
        print(done.incomplete)
    for difference in done.differences:
        print(f"{difference}.")
    if out is not None:
        from ident.output import ModelWriter

        for file in ModelWriter(folder)(done.state, done.data):
            print(file)
    if done.recorded is None:
        print("The session was left before a model was saved: there is nothing to compare with.")
        return 0
    same = done.recorded == done.digest and not done.differences
    print(f"Model as recorded:   {done.recorded[:16]}, {'identical' if same else 'DIFFERENT'}")
    if not same and not done.differences and not done.incomplete:
        print("The algorithms have changed since; `ident refit` tells by how much each joint moved.")
    return 0 if same else 1


def _since_start_s() -> float:
    """Real seconds since this process was made, as whoever waits for it counts them; 0 where nobody tells."""
    import os
    import time

    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _prepared(folder: Path) -> Path:
    from ident.output import prepare_folder

    return prepare_folder(folder)


def _serve(path: Path, speed: float) -> int:
    import gc

    from ident.recorded import recorded_calibration
    from sessions import open_session
    from sessions.serve import Place, SessionServer

    gc.enable()
    session = open_session(path)
    with SessionServer(session, Place(http=8080), recorded_calibration(session), speed=speed) as server:
        at = server.place
        print(
            f"Serving {path} as NatNet at {at.host}:{at.natnet} and Net F/T at {at.host}:{at.rdt} "
            f"(http port {at.http}). It starts with the first client; Ctrl-C ends it.",
            flush=True,
        )
        played = server.run()
    print(f"Served {played.datagrams} datagrams, {played.session_s:.1f} s of the session.")
    return 0
