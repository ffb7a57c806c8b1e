"""Command line of the workstation. Each verb is a module of ``ident.commands``, imported when called."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

COMMANDS = {
    "demo": "identify a simulated object from end to end, and compare with the truth",
    "run": "identify an object step by step",
    "resume": "go on with an interrupted session at the step where it stopped",
    "sim": "run the simulated rig alone, for other programs to connect to",
    "check": "say what each device is doing, and what to do about what is wrong",
    "calibrate": "find tip, sensor frame and weight, and look after stored calibrations",
    "register": "place a model in the world by touching its marked points",
    "find": "list the motion-capture servers and force/torque sensors on the network",
    "new": "write an object description or a rig file to start from",
    "show": "draw a model",
    "query": "print the pose of a frame of a model",
    "diff": "compare two models joint by joint",
    "export": "write a model as URDF, MJCF, SDF, JSON or CSV",
    "import": "make a model of a URDF, or a session of a recording",
    "model": "check a model file and say what is wrong, with line numbers",
    "sessions": "list the recorded sessions",
    "info": "summarise a session: duration, rates, gaps, takes",
    "replay": "play a session through decoders, buffers and workflow again",
    "refit": "fit recorded sessions again with today's algorithms, and show what changed",
    "report": "write a session as one self-contained HTML page",
    "study": "measure ident itself: the source's evaluation, sweeps, real recordings, operator time",
}
"""Every verb with one line of help; ``ident VERB --help`` is its manual page."""

_MODULES = {"import": "import_", "sessions": "sessions_"}
"""Verbs whose module cannot bear their name."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells expect it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the process's exit status."""
    # With several threads NumPy's linear algebra sums in another order: the same takes would give other last digits on
    # another computer. Our matrices are small, and its threads would only take time from those that receive.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # It would look through all installed packages for plug-ins at every start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    words = list(sys.argv[1:] if arguments is None else arguments)
    verb = next((word for word in words if not word.startswith("-")), None)
    try:
        if verb not in COMMANDS or words.index(verb) != 0:
            return _general_help(words)
        return _run(verb, words[1:])
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) went away: nothing is left to say, not even at shutdown.
        sys.stdout = None
        return 0
    except Exception as error:
        if not getattr(error, "explains_itself", False):
            raise
        print(f"ident: {error}", file=sys.stderr)
        return 1


def _run(verb: str, words: list[str]) -> int:
    module = importlib.import_module(f"ident.commands.{_MODULES.get(verb, verb)}")
    summary, _, details = (module.__doc__ or COMMANDS[verb]).partition("\n")
    parser = argparse.ArgumentParser(
        prog=f"ident {verb}",
        description=summary,
        epilog=details.strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    status: int = module.run(parser.parse_args(words))
    return status


def _general_help(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ident",
        usage="ident COMMAND [options]",
        description="Identify articulated objects: grip a part, move it once, get a kinematic tree.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    options, unknown = parser.parse_known_args(words)
    if options.version:
        from importlib.metadata import version

        print(f"ident {version('ident')}")
        return 0
    if unknown:
        import difflib

        near = difflib.get_close_matches(unknown[0], COMMANDS, n=1)
        hint = f" Did you mean `ident {near[0]}`?" if near else " `ident --help` lists the commands."
        print(f"ident: there is no command '{unknown[0]}'.{hint}", file=sys.stderr)
        return 2
    parser.print_help()
    return 0


def _overview() -> str:
    width = max(len(verb) for verb in COMMANDS)
    lines = [f"  {verb:<{width}}  {text}" for verb, text in COMMANDS.items()]
    return "\n".join(
        [
            "commands:",
            *lines,
            "",
            "`ident COMMAND --help` explains a command. Without hardware, start with `ident demo`, then",
            "`ident run --rig sim`.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
