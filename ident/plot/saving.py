"""The figure of a finished model, drawn in a process of its own: devices that still stream are not kept waiting.

Drawing it takes the better part of a second of one interpreter, in which receiving and the operator's keys would have
to share it.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fitting.se3 import Array
from ident import pipe
from ident.joints.problems import ModelError
from ident.model import model_text, parse_model
from ident.tree import KinematicTree

PATIENCE_S = 120.0
"""Real seconds after which a figure is given up; on a free core it takes two."""


def save_figure(tree: KinematicTree, paths: Sequence[Path], takes: dict[str, list[Array]]) -> None:
    """Write the picture of a tree over its takes (n, 4, 4) in root, once for each path, by its ending.

    Raises ModelError where that fails.
    """
    written = [str(path) for path in paths]
    words = {"model": model_text(tree), "paths": written, "takes": {name: len(some) for name, some in takes.items()}}
    arrays = {f"{name} {i}": take for name, some in takes.items() for i, take in enumerate(some)}
    try:
        done = subprocess.run(
            # A session of its own: Ctrl-C in the terminal is for whoever asked for the figure.
            [sys.executable, "-m", "ident.plot.saving"],
            input=pipe.pack(words, arrays),
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"{written[0]} could not be drawn: {error}.") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ModelError(said[-1] if said else f"{written[0]} could not be drawn.")


def main() -> int:
    """Draw what comes through standard input."""
    from ident.plot.figure import save_model_figure

    words, arrays = pipe.unpack(sys.stdin.buffer.read())
    takes = {name: [arrays[f"{name} {i}"] for i in range(count)] for name, count in words["takes"].items()}
    try:
        save_model_figure(parse_model(words["model"]), *words["paths"], takes=takes)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
