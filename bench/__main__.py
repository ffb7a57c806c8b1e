"""Every comparison with peers and limits, one after the other: ``make bench``. Each also runs alone."""

import subprocess
import sys

BENCHES = (
    ("bench.fitting", "accuracy against the limit, time against peers"),
    ("bench.honesty", "whether covariances are true"),
    ("bench.natnet", "decoding against public NatNet clients"),
    ("bench.netft", "our RDT client against pynetft"),
    ("bench.tree_speed", "forward kinematics against pinocchio and yourdfpy"),
    ("bench.sessions_replay", "replay against real time"),
    ("bench.sessions_refit", "refitting an archive with one and two workers"),
    ("bench.calibration_promises", "accuracy, honesty and refusals of the calibrations"),
    ("bench.reducer", "the workflow under random events"),
    ("bench.advice", "advice on good and bad takes"),
)


def main() -> int:
    """Run all, whatever fails; the exit status says whether one did."""
    failed = []
    for module, what in BENCHES:
        print(f"\n=== {module}: {what}\n", flush=True)
        if subprocess.run([sys.executable, "-m", module], check=False).returncode:
            failed.append(module)
    if failed:
        print(f"\nFailed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
