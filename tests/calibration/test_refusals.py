import pytest

from bench.calibration_cases import BAD, GOOD


@pytest.mark.parametrize("name", BAD)
def test_a_bad_take_is_refused_for_its_cause(name: str) -> None:
    case, causes = BAD[name]
    for seed in range(6):
        refused = case(9000 + seed)
        assert not refused, seed
        assert refused.cause in causes
        assert refused.reason.endswith(".")


@pytest.mark.parametrize("name", GOOD)
def test_a_good_take_is_never_refused(name: str) -> None:
    for seed in range(6):
        result = GOOD[name](9500 + seed)
        assert result, result.reason
