"""Order and exact accounts of records under loss, repeats, reordering, wrap-around and restarts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.netft.rdt import RECORD
from devices.netft.sequencer import Account, Batch, Sequencer

HOLD = 50_000_000
MS = 1_000_000


def batch(numbers: list[int], received_ns: list[int] | None = None, ft_offset: int = 0, ft_step: int = 1) -> Batch:
    records = np.zeros(len(numbers), dtype=RECORD)
    unwrapped = np.array(numbers, dtype=np.int64)
    records["rdt_sequence"] = unwrapped % 2**32
    records["ft_sequence"] = (unwrapped * ft_step + ft_offset) % 2**32
    stamps = [number * MS for number in range(len(numbers))] if received_ns is None else received_ns
    return Batch(records, np.array(stamps, dtype=np.int64))


def sequence(batches: list[Batch]) -> list[int]:
    return [int(number) for part in batches for number in part.records["rdt_sequence"]]


def test_a_whole_stream_passes_at_once() -> None:
    sequencer = Sequencer(HOLD)
    assert sequence([sequencer.feed(batch([1, 2, 3])), sequencer.feed(batch([4]))]) == [1, 2, 3, 4]
    assert sequencer.account == Account(received=4, delivered=4)


def test_wrap_around_is_no_gap() -> None:
    sequencer = Sequencer(HOLD)
    start = 2**32 - 2
    assert len(sequencer.feed(batch([start, start + 1, start + 2]))) == 3
    assert sequence([sequencer.feed(batch([start + 3]))]) == [1]
    assert sequencer.account == Account(received=4, delivered=4)


def test_gap_across_the_wrap_counts_its_missing_records() -> None:
    sequencer = Sequencer(HOLD)
    start = 2**32 - 3
    sequencer.feed(batch([start]))
    assert len(sequencer.feed(batch([start + 5], [1 * MS]))) == 0
    assert len(sequencer.flush(40 * MS)) == 0
    assert sequence([sequencer.flush(51 * MS)]) == [2]
    assert sequencer.account == Account(received=2, delivered=2, lost=4)


def test_a_late_record_is_put_into_place() -> None:
    sequencer = Sequencer(HOLD)
    released = [sequencer.feed(batch(numbers)) for numbers in ([1, 2], [4, 5], [3], [6])]
    assert sequence(released) == [1, 2, 3, 4, 5, 6]
    assert sequencer.account == Account(received=6, delivered=6, out_of_order=1)


def test_a_record_that_is_too_late_stays_lost() -> None:
    sequencer = Sequencer(HOLD)
    released = [
        sequencer.feed(batch([1], [0])),
        sequencer.feed(batch([3], [1 * MS])),
        sequencer.feed(batch([4], [60 * MS])),
        sequencer.feed(batch([2], [61 * MS])),
    ]
    assert sequence(released) == [1, 3, 4]
    assert sequencer.account == Account(received=4, delivered=3, lost=1, out_of_order=1, late=1)


def test_duplicates_are_dropped_delivered_or_held() -> None:
    sequencer = Sequencer(HOLD)
    released = [sequencer.feed(batch(numbers)) for numbers in ([1, 2, 2], [1], [4, 4], [4], [3, 3], [5])]
    assert sequence(released) == [1, 2, 3, 4, 5]
    account = sequencer.account
    assert (account.delivered, account.duplicates, account.lost) == (5, 5, 0)


def test_one_damaged_number_is_dropped() -> None:
    sequencer = Sequencer(HOLD)
    released = [
        sequencer.feed(batch([1, 2, 2**30, 3, 4])),
        sequencer.feed(batch([2**31 - 7])),
        sequencer.feed(batch([5])),
    ]
    assert sequence(released) == [1, 2, 3, 4, 5]
    assert sequencer.account == Account(received=7, delivered=5, implausible=2)


def test_a_long_gap_counts_every_missing_record() -> None:
    sequencer = Sequencer(HOLD)
    released = [sequencer.feed(batch([1, 2])), sequencer.feed(batch([100_000])), sequencer.feed(batch([100_001]))]
    assert sequence(released) == [1, 2, 100_000, 100_001]
    assert sequencer.account == Account(received=4, delivered=4, lost=99_997)


def test_scattered_numbers_cost_nothing_but_their_records() -> None:
    sequencer = Sequencer(HOLD)
    released = [sequencer.feed(batch([1, 2**30, 2**20, 2**31 + 5, 2, 2**29, 3]))]
    assert sequence(released) == [1, 2, 3]
    assert sequencer.account == Account(received=7, delivered=3, implausible=4)


def test_a_restart_is_a_reset_and_no_loss() -> None:
    sequencer = Sequencer(HOLD)
    sequencer.feed(batch(list(range(1, 1001)), ft_offset=5000))
    released = [sequencer.feed(batch([1], ft_offset=7000)), sequencer.feed(batch([2, 3], ft_offset=7000))]
    assert sequence(released) == [1, 2, 3]
    assert sequencer.account == Account(received=1003, delivered=1003, resets=1)


def test_a_restart_far_away_is_a_reset() -> None:
    sequencer = Sequencer(HOLD)
    sequencer.feed(batch([10_000_000, 10_000_001, 10_000_003]))
    assert sequence([sequencer.feed(batch([1, 2, 3, 4]))]) == [10_000_003, 1, 2, 3, 4]
    assert sequencer.account == Account(received=7, delivered=7, lost=1, resets=1)


def test_restart_on_request_gives_back_what_was_held() -> None:
    sequencer = Sequencer(HOLD)
    sequencer.feed(batch([1, 3]))
    assert sequence([sequencer.restart()]) == [3]
    assert sequence([sequencer.feed(batch([1]))]) == [1]
    assert sequencer.account == Account(received=3, delivered=3, lost=1)


def test_held_records_are_bounded() -> None:
    sequencer = Sequencer(10**15)
    sequencer.feed(batch([1]))
    delivered = len(sequencer.feed(batch(list(range(3, 5000)))))
    assert delivered == 4997


@pytest.mark.parametrize("first", [1, 2**32 - 60])
@settings(deadline=None)
@given(st.data())
def test_accounts_are_exact(first: int, data: st.DataObject) -> None:
    """Loss, repeats and displacement within the holding time: all accounted for, in order again."""
    n = 120
    fate = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    delay = data.draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))
    arrivals: list[tuple[int, int, int]] = []
    for i in range(n):
        copies = 1 if i in (0, n - 1) else {0: 0, 1: 2}.get(fate[i], 1)
        late = 0 if i in (0, n - 1) else delay[i]
        arrivals += [(i + late, copy, i) for copy in range(copies)]
    arrivals.sort()
    sequencer = Sequencer(HOLD)
    out: list[Batch] = []
    position = 0
    while position < len(arrivals):
        size = data.draw(st.integers(1, 20))
        chunk = arrivals[position : position + size]
        out.append(sequencer.feed(batch([first + i for _, _, i in chunk], [t * MS for t, _, _ in chunk], ft_step=7)))
        position += size
    out.append(sequencer.flush(10**12))
    present = sorted({i for _, _, i in arrivals})
    assert sequence(out) == [(first + i) % 2**32 for i in present]
    account = sequencer.account
    assert account.received == len(arrivals)
    assert account.delivered == len(present)
    assert account.lost == n - len(present)
    assert account.duplicates == len(arrivals) - len(present)
    assert (account.late, account.implausible, account.resets) == (0, 0, 0)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)), max_size=8), max_size=30))
def test_any_numbers_are_accounted_for(batches: list[list[tuple[int, int]]]) -> None:
    sequencer = Sequencer(HOLD)
    delivered = 0
    for pairs in batches:
        records = np.zeros(len(pairs), dtype=RECORD)
        records["rdt_sequence"] = [rdt for rdt, _ in pairs]
        records["ft_sequence"] = [ft for _, ft in pairs]
        delivered += len(sequencer.feed(Batch(records, np.zeros(len(pairs), dtype=np.int64))))
    delivered += len(sequencer.restart())
    account = sequencer.account
    assert account.delivered == delivered
    assert account.received == delivered + account.duplicates + account.late + account.implausible
