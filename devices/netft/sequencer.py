"""Records in the order in which the sensor made them, and an account of each number of the sequence; pure."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from devices.netft.rdt import RECORD

_MODULUS = 1 << 32
_WINDOW = 4096
"""How far from its place a record may be and still count as late, early or twice; half a second at 7000 Hz."""
_LARGEST_GAP = 1 << 20
"""A longer jump, minutes of stream, is no loss but a new sequence."""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the records.

    ``received == delivered + duplicates + late + implausible`` once nothing is held back any more, and
    ``delivered + lost`` is how many the sensor sent.
    """

    received: int = 0
    delivered: int = 0
    lost: int = 0
    """Numbers of the sequence that were never delivered."""
    duplicates: int = 0
    out_of_order: int = 0
    """Records that came after a later one, whether they could still be put into place or not."""
    late: int = 0
    """Out of order by more than the holding time: not delivered, and so among the lost."""
    implausible: int = 0
    """Single records far from the sequence: damaged, not delivered."""
    resets: int = 0
    """Times that the sequence began anew without our asking."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records (n,) of dtype `RECORD` with the host time in ns (n,) at which each was received."""

    records: NDArray[np.void]
    received_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.records)

    def take(self, index: slice | NDArray[np.intp] | NDArray[np.bool_]) -> "Batch":
        """The records that an index picks."""
        return Batch(self.records[index], self.received_ns[index])


EMPTY = Batch(np.empty(0, dtype=RECORD), np.empty(0, dtype=np.int64))


def join(batches: list[Batch]) -> Batch:
    """Batches one after the other."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        np.concatenate([EMPTY.records, *(batch.records for batch in batches)]),
        np.concatenate([EMPTY.received_ns, *(batch.received_ns for batch in batches)]),
    )


class Sequencer:
    """Sorts records by ``rdt_sequence`` and counts losses, repeats and restarts exactly, across wrap-around.

    A stream without gaps passes at once. Behind a gap records are held for `hold_ns` host nanoseconds, in
    case that the missing ones come late.
    """

    def __init__(self, hold_ns: int) -> None:
        self._hold_ns = hold_ns
        self._counts = {field.name: 0 for field in fields(Account)}
        self._begin()

    def _begin(self) -> None:
        self._begun = False
        self._next = 0  # unwrapped number that is due
        self._newest = -1  # greatest unwrapped number seen
        self._newest_ft = 0
        self._seen = np.zeros(_WINDOW, dtype=np.bool_)  # whether a recent number was delivered, by number % window
        self._held = EMPTY
        self._held_numbers = np.empty(0, dtype=np.int64)
        self._suspect = EMPTY

    @property
    def account(self) -> Account:
        """What became of the records so far."""
        return Account(**self._counts)

    def restart(self) -> Batch:
        """Expect a new sequence, after a request for one; the records still held of the old one."""
        rest = self._release(everything=True)
        self._count(implausible=len(self._suspect))
        self._begin()
        return rest

    def feed(self, batch: Batch) -> Batch:
        """Take records as they came in; those that are due now, in order."""
        self._count(received=len(batch))
        released: list[Batch] = []
        while len(batch):
            if not self._begun:
                self._begun = True
                self._next = int(batch.records["rdt_sequence"][0])
                self._newest = self._next - 1
            if self._passes_through(batch):
                released.append(self._deliver(batch, self._next + np.arange(len(batch))))
                break
            batch = self._sort_in(batch, released)
        if len(self._held):
            released.append(self._release(now_ns=int(self._held.received_ns.max())))
        return join(released)

    def flush(self, now_ns: int) -> Batch:
        """Records that were held long enough at host time `now_ns`."""
        return self._release(now_ns=now_ns)

    def _passes_through(self, batch: Batch) -> bool:
        if len(self._held) or len(self._suspect):
            return False
        sequence = batch.records["rdt_sequence"].astype(np.int64)
        return bool((((sequence - self._next) - np.arange(len(batch))) % _MODULUS == 0).all())

    def _sort_in(self, batch: Batch, released: list[Batch]) -> Batch:
        """Take the records up to where ordinary ones and strange ones meet; return the others."""
        distance = _signed(batch.records["rdt_sequence"].astype(np.int64) - self._next)
        ft_ahead = _signed(batch.records["ft_sequence"].astype(np.int64) - self._newest_ft) > 0
        # A number far away, or an earlier number with later content: a jump if the next record agrees, else damage.
        strange = (np.abs(distance) > _WINDOW) | ((distance < 0) & ft_ahead)
        alike = int(np.argmax(np.append(strange, not strange[0]) != strange[0]))
        first, rest = batch.take(slice(0, alike)), batch.take(slice(alike, None))
        if not strange[0]:
            self._count(implausible=len(self._suspect))
            self._suspect = EMPTY
            self._hold(first, self._next + distance[:alike])
            released.append(self._release())
            return rest
        chain = join([self._suspect, first])
        numbers = chain.records["rdt_sequence"].astype(np.int64)
        steps = _signed(numbers[1:] - numbers[:-1])
        agreeing = np.flatnonzero((steps > 0) & (steps <= _WINDOW))
        where = int(agreeing[0]) if len(agreeing) else len(chain) - 1
        self._count(implausible=where)
        chain = chain.take(slice(where, None))
        if not len(agreeing):
            self._suspect = chain
            return rest
        self._suspect = EMPTY
        released.append(self._release(everything=True))
        self._jump(chain.records[:1])
        return join([chain, rest])

    def _jump(self, record: NDArray[np.void]) -> None:
        """Go on with a record (1,) far from the sequence: behind a long gap, or in a new sequence."""
        distance = int(_signed(record["rdt_sequence"].astype(np.int64) - self._next)[0])
        ft_ahead = int(_signed(record["ft_sequence"].astype(np.int64) - self._newest_ft)[0]) > 0
        if 0 < distance <= _LARGEST_GAP and ft_ahead:
            self._count(lost=distance)
            self._next += distance
            self._newest = self._next - 1
            self._seen[:] = False
        else:
            self._count(resets=1)
            self._begin()

    def _hold(self, batch: Batch, numbers: NDArray[np.int64]) -> None:
        newest = np.maximum.accumulate(np.concatenate([[self._newest], numbers]))
        overtaken = numbers < newest[:-1]
        self._newest = int(newest[-1])
        past = numbers < self._next
        repeated = np.zeros(len(numbers), dtype=np.bool_)
        repeated[past] = self._seen[numbers[past] % _WINDOW]
        late = past & ~repeated
        held = join([self._held, batch.take(~past)])
        held_numbers = np.concatenate([self._held_numbers, numbers[~past]])
        self._held_numbers, first = np.unique(held_numbers, return_index=True)
        self._held = held.take(first)
        again = np.ones(len(held_numbers), dtype=np.bool_)
        again[first] = False
        repeated[~past] = again[len(held_numbers) - int((~past).sum()) :]
        self._count(
            duplicates=int(repeated.sum()),
            out_of_order=int((overtaken & ~repeated).sum()),
            late=int(late.sum()),
        )

    def _release(self, *, now_ns: int | None = None, everything: bool = False) -> Batch:
        """Deliver what is due: the run without gaps, and what was held for too long."""
        if not len(self._held):
            return EMPTY
        due = 0
        if everything or len(self._held) > _WINDOW // 2:
            due = len(self._held)
        elif now_ns is not None:
            overdue = np.flatnonzero(self._held.received_ns <= now_ns - self._hold_ns)
            due = int(overdue[-1]) + 1 if len(overdue) else 0
        expected = int(self._held_numbers[due - 1]) + 1 if due else self._next
        rest = self._held_numbers[due:]
        due += int(np.argmin(np.append(rest == expected + np.arange(len(rest)), False)))
        if not due:
            return EMPTY
        released = self._deliver(self._held.take(slice(0, due)), self._held_numbers[:due])
        self._held, self._held_numbers = self._held.take(slice(due, None)), self._held_numbers[due:]
        return released

    def _deliver(self, batch: Batch, numbers: NDArray[np.int64]) -> Batch:
        upto = int(numbers[-1]) + 1
        self._count(delivered=len(batch), lost=upto - self._next - len(batch))
        if upto - self._next > len(batch):
            self._seen[np.arange(max(self._next, upto - _WINDOW), upto) % _WINDOW] = False
        self._seen[numbers[-_WINDOW:] % _WINDOW] = True
        self._next = upto
        self._newest = max(self._newest, upto - 1)
        self._newest_ft = int(batch.records["ft_sequence"][-1])
        return batch

    def _count(self, **counts: int) -> None:
        for name, n in counts.items():
            self._counts[name] += n


def _signed(difference: NDArray[np.int64]) -> NDArray[np.int64]:
    """A difference of two 32-bit counters as the nearest signed distance."""
    return (difference + (1 << 31)) % _MODULUS - (1 << 31)
