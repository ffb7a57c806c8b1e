"""Ways to damage a file, and a reader that touches everything.

Used by the tests and by ``bench/sessions_fuzz.py``.
"""

import random
from pathlib import Path

from sessions import SessionError, open_session


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Damage ``data`` in one of the ways that disks, cables and people have."""
    damaged = bytearray(data)
    kind = rng.randrange(7)
    if kind == 0:
        return bytes(damaged[: rng.randrange(len(damaged))])
    if kind == 1:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        at, length = rng.randrange(len(damaged)), rng.randrange(1, 4096)
        damaged[at : at + length] = bytes(len(damaged[at : at + length]))
    elif kind == 3:
        at = rng.randrange(len(damaged))
        del damaged[at : at + rng.randrange(1, 2000)]
    elif kind == 4:
        at = rng.randrange(len(damaged))
        damaged[at:at] = rng.randbytes(rng.randrange(1, 2000))
    elif kind == 5:
        at = rng.randrange(max(1, len(damaged) - 8))
        damaged[at : at + 8] = rng.choice([b"\xff" * 8, b"\xff\xff\xff\x7f\0\0\0\0", bytes(8), b"\0\0\0\1\0\0\0\0"])
    else:
        a, b = rng.randrange(len(damaged)), rng.randrange(len(damaged))
        damaged[a : a + 1000], damaged[b : b + 1000] = damaged[b : b + 1000], damaged[a : a + 1000]
    return bytes(damaged)


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """Damage a table: other numbers, other characters, cut and repeated stretches."""
    damaged = bytearray(data)
    odd = [b"nan", b"inf", b"1e400", b"-1", b"\0", b'"', b",", b"\n", b";", b"9" * 40, b"1e308", b"\xff", b""]
    for _ in range(rng.choice([1, 2, 5])):
        at = rng.randrange(len(damaged) or 1)
        kind = rng.randrange(5)
        if kind == 0:
            damaged[at : at + 1] = rng.choice(odd)
        elif kind == 1:
            damaged[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 2:
            del damaged[at : at + rng.randrange(1, 60)]
        elif kind == 3:
            del damaged[at:]
        else:
            damaged[at:at] = damaged[max(0, at - 80) : at]
    return bytes(damaged)


def read_everything(path: Path) -> int | None:
    """The number of samples that can be read, None where the file is refused; anything else is a fault."""
    try:
        session = open_session(path)
        info = session.info()
        count = sum(len(session.poses(body)) for body in session.bodies) + len(session.wrenches())
        count += sum(1 for _ in session.datagrams())
        session.events(), session.documents(), session.presses(), session.device_events(), session.takes()
        str(info), [str(damage) for damage in session.damage]
    except SessionError:
        return None
    return count
