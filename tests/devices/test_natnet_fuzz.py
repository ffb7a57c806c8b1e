"""A small run of the fuzzer; the long one is ``python -m bench.fuzz_natnet``."""

import runpy
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "fuzz_natnet.py"


def test_hostile_datagrams_are_decoded_or_malformed_and_never_anything_else() -> None:
    fuzzer = runpy.run_path(str(BENCH))
    tally = fuzzer["run"](count=5000, seed=7)
    assert tally.decoded + tally.refused == 5000
    assert tally.decoded > 1000
    assert tally.refused > 1000
