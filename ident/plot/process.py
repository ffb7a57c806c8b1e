"""The live picture in a process of its own, so that drawing never delays a receive stamp.

The parent sends snapshots through a pipe; the child draws the latest one in a window or into a PNG file. A
child that cannot draw, or whose window was closed, ends; the measurement goes on and the status line says so.
"""

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from io import FileIO, RawIOBase
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from ident import pipe

if TYPE_CHECKING:
    from ident.live.following import Track
    from ident.takes import TakeData
    from ident.workflow.state import State

MODES = ("window", "png", "off")
PERIOD_S = 0.25
"""Real seconds between two pictures."""
NICENESS = 15
"""Drawing lets receiving, recording, keys and fits go first."""
GOODBYE_S = 2.0
"""Real seconds that the child has for its last picture."""


class LivePlot:
    """The parent's side: ``show`` hands over the newest state and returns at once; ``note`` says how it goes."""

    def __init__(
        self,
        mode: str,
        file: Path | None = None,
        data: Mapping[int, "TakeData"] | None = None,
        *,
        goodbye_s: float = GOODBYE_S,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"'{mode}' is no way to plot; choose {', '.join(MODES)}")
        self._mode = mode
        self._file = file or Path("live.png")
        self._data = data if data is not None else {}
        self._goodbye_s = goodbye_s
        self._wanted: queue.SimpleQueue[tuple[State, Track | None] | None] = queue.SimpleQueue()
        self._note = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plot", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._last: tuple[Any, Any] = (None, None)

    @property
    def note(self) -> str:
        """A few words for the status line; empty where no plot was asked for."""
        return self._note

    @property
    def process(self) -> "subprocess.Popen[bytes] | None":
        """The child, while it runs."""
        return self._process

    def __enter__(self) -> Self:
        if self._mode != "off":
            self._note = "plot: window" if self._mode == "window" else f"plot: {self._file.name}"
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self._stopping.set()
            self._wanted.put(None)
            self._thread.join()

    def show(self, state: "State", track: "Track | None") -> None:
        """Draw this when there is time; what was not drawn yet is dropped for it."""
        if not self._thread.is_alive():
            return
        child = self._process
        ended = child is not None and child.poll() is not None
        if ended or state is not self._last[0] or track is not self._last[1]:
            self._last = (state, track)
            self._wanted.put((state, track))

    def _run(self) -> None:
        from ident.plot.snapshot import snapshot_of

        with tempfile.TemporaryFile() as errors:
            command = [sys.executable, "-m", "ident.plot.process", self._mode, str(self._file)]
            # A session of its own: Ctrl-C in the terminal is for the wizard, which then closes the plot.
            child = subprocess.Popen(  # noqa: S603 - our own module
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )
            self._process = child
            try:
                while (item := self._newest()) is not None:
                    payload = snapshot_of(*item, self._data).encode()
                    if child.stdin is None or child.poll() is not None:
                        break
                    pipe.write(child.stdin, payload)
                    self._stopping.wait(PERIOD_S)
            except (OSError, ValueError, ArithmeticError, KeyError) as error:
                self._note = f"plot ended: {error}"
            self._end(child, errors, asked=item is None)

    def _newest(self) -> "tuple[State, Track | None] | None":
        """Wait for something to draw; of several, the last one, which is drawn before the end too."""
        item = self._wanted.get()
        while item is not None and not self._wanted.empty():
            later = self._wanted.get()
            if later is None:
                self._wanted.put(None)
                break
            item = later
        return item

    def _end(self, child: "subprocess.Popen[bytes]", errors: BinaryIO, *, asked: bool) -> None:
        try:
            if child.stdin is not None:
                child.stdin.close()
        except OSError:
            pass  # It has closed its end already.
        try:
            failed = child.wait(self._goodbye_s) != 0
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            failed = not asked
        self._process = None
        if failed:
            # Told even where the end was asked for: a short replay is over before a child knows that it cannot draw.
            errors.seek(0)
            said = errors.read()[-2000:].decode(errors="replace").strip().splitlines()
            self._note = f"plot: {said[-1]}" if said else "plot closed"
        elif not asked:
            self._note = "plot closed"


# The child.


def main(mode: str, file: Path) -> int:
    """Draw what comes through standard input until it ends."""
    os.nice(NICENESS)
    latest: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    # Unbuffered: a buffered reader that waits in a thread when the program ends would abort it.
    stream = FileIO(sys.stdin.fileno(), closefd=False)
    threading.Thread(target=_receive, args=(stream, latest), daemon=True).start()
    return _window(latest) if mode == "window" else _png(latest, file)


def _receive(stream: RawIOBase, latest: "queue.SimpleQueue[bytes | None]") -> None:
    message: bytes | None = b""
    while message is not None:
        message = pipe.read(stream)
        latest.put(message)


def _last_of(latest: "queue.SimpleQueue[bytes | None]", *, wait: bool) -> tuple[bytes | None, bool]:
    """Newest payload (None where there is none), and whether the stream has ended."""
    payload, ended = None, False
    while wait or not latest.empty():
        item = latest.get()
        wait = False
        if item is None:
            return payload, True
        payload = item
    return payload, ended


def _png(latest: "queue.SimpleQueue[bytes | None]", file: Path) -> int:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ident.plot.live import draw_live
    from ident.plot.snapshot import Snapshot

    ended = False
    while not ended:
        payload, ended = _last_of(latest, wait=True)
        if payload is not None:
            began = time.monotonic()
            figure = Figure(figsize=(10.0, 6.0), dpi=110, facecolor="white")
            FigureCanvasAgg(figure)
            draw_live(figure, Snapshot.decode(payload))
            # Replaced in one step: whoever looks at the file never sees half a picture.
            unfinished = file.with_name(f".{file.name}.part")
            figure.savefig(unfinished, format="png")
            unfinished.replace(file)
            if not ended:
                # Half of a core at the most, and less where others need it: the fit comes first.
                time.sleep(time.monotonic() - began)
    return 0


def _window(latest: "queue.SimpleQueue[bytes | None]") -> int:
    import matplotlib as mpl

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        print("no display for a window; use --plot png", file=sys.stderr)
        return 1
    from matplotlib import pyplot as plt

    if mpl.get_backend().lower() == "agg":
        print("no window toolkit (tkinter or Qt); use --plot png", file=sys.stderr)
        return 1
    from ident.plot.live import draw_live
    from ident.plot.snapshot import Snapshot

    figure = plt.figure("ident", figsize=(11.0, 6.5))

    def refresh() -> None:
        payload, ended = _last_of(latest, wait=False)
        if payload is not None:
            view = _view(figure)
            figure.clear()
            draw_live(figure, Snapshot.decode(payload))
            _restore(figure, view)
            figure.canvas.draw_idle()
        if ended:
            plt.close(figure)

    timer = figure.canvas.new_timer(interval=int(PERIOD_S * 1000))
    timer.add_callback(refresh)
    timer.start()
    plt.show()
    return 0


def _view(figure: Any) -> tuple[float, float] | None:
    """Direction from which the operator looks, once they have turned the picture."""
    ax = figure.axes[0] if figure.axes else None
    turned = ax is not None and getattr(ax, "turned_by_hand", None) not in (None, (ax.elev, ax.azim))
    return (ax.elev, ax.azim) if ax is not None and turned else None


def _restore(figure: Any, view: tuple[float, float] | None) -> None:
    ax = figure.axes[0]
    if view is not None:
        ax.view_init(*view)
        ax.turned_by_hand = ()
    else:
        ax.turned_by_hand = (ax.elev, ax.azim)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
