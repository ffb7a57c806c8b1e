"""Calibrations on disk: one dated JSON file each, found again for the same rig, refused with the reason
otherwise."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import ValidationError

from calibration.identity import RigIdentity, differences
from calibration.records import Calibration, Kind, Record, record_of
from calibration.result import CalibrationFailure

DEFAULT_DIRECTORY = Path("~/ident/calibrations")

MAX_AGE: dict[Kind, timedelta] = {
    "tip": timedelta(days=30),
    "sensor": timedelta(days=90),
    "load": timedelta(days=1),
    "registration": timedelta(days=30),
}
"""Age at which a calibration is no longer believed. A sensor's bias drifts within hours, a mounting hardly
ever."""

_RENEW: dict[Kind, str] = {
    "tip": "ident calibrate tip",
    "sensor": "ident calibrate ft",
    "load": "ident calibrate weight",
    "registration": "ident register MODEL",
}


class StoreError(Exception):
    """A stored calibration that cannot be read, written or named."""

    explains_itself = True


@dataclass(frozen=True)
class Entry:
    """One file of the store."""

    path: Path
    record: Record | None
    """None where the file cannot be read."""
    problem: str = ""
    """Why not."""

    @property
    def name(self) -> str:
        """By which it is shown and removed."""
        return self.path.stem


class CalibrationStore:
    """A directory of calibrations. Files are written whole or not at all."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (DEFAULT_DIRECTORY if directory is None else directory).expanduser()

    def save(self, calibration: Calibration, identity: RigIdentity, *, now: datetime | None = None) -> Path:
        """Write a calibration and return its file; ``now`` must know its time zone."""
        created = datetime.now(UTC) if now is None else now
        record = record_of(calibration, identity, created)
        text = record.model_dump_json(indent=2) + "\n"
        stamp = created.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        body = "".join(c if c.isalnum() or c in "-." else "_" for c in identity.body)[:60] or "body"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            path = self.directory / f"{stamp}_{record.kind}_{body}.json"
            for k in range(2, 1000):
                if not path.exists():
                    break
                path = path.with_name(f"{stamp}_{record.kind}_{body}_{k}.json")
            _write_whole(path, text)
        except OSError as error:
            raise StoreError(
                f"The calibration cannot be written to {self.directory}: {error.strerror}. "
                "Make room or choose another directory for calibrations in the rig's file."
            ) from error
        return path

    def entries(self) -> tuple[Entry, ...]:
        """All calibrations, the newest first; unreadable files are named with their problem."""
        found = [_read(path) for path in sorted(self.directory.glob("*.json"))]
        return tuple(sorted(found, key=_age_key, reverse=True))

    def get(self, name: str) -> Entry:
        """Find an entry by its name, or by a beginning of it that fits no other."""
        entries = self.entries()
        exact = [e for e in entries if e.name == name or e.path.name == name]
        fitting = exact or [e for e in entries if e.name.startswith(name)]
        if len(fitting) == 1:
            return fitting[0]
        if not fitting:
            raise StoreError(f"No calibration '{name}' in {self.directory}. See `ident calibrate list`.")
        names = ", ".join(e.name for e in fitting[:5])
        raise StoreError(f"'{name}' fits {len(fitting)} calibrations: {names}. Write more of the name.")

    def remove(self, name: str) -> Path:
        """Delete one calibration and return the file that is gone."""
        path = self.get(name).path
        try:
            path.unlink()
        except OSError as error:
            raise StoreError(f"{path} cannot be removed: {error.strerror}.") from error
        return path

    def find(
        self,
        kind: Kind,
        identity: RigIdentity,
        *,
        now: datetime | None = None,
        max_age: timedelta | None = None,
    ) -> Record | CalibrationFailure:
        """Find the newest calibration of a kind that fits this rig, or say why there is none and how to
        renew it."""
        moment = datetime.now(UTC) if now is None else now
        limit = MAX_AGE[kind] if max_age is None else max_age
        candidates = [
            e.record
            for e in self.entries()
            if e.record is not None and e.record.kind == kind and e.record.body == identity.body
        ]
        refusals = []
        for record in candidates:
            reasons = refuse(record, identity, moment, limit)
            if not reasons:
                return record
            refusals.append((record, reasons))
        renew = f"Run `{_RENEW[kind]}` to renew it."
        if not refusals:
            return CalibrationFailure(
                "none-stored",
                f"There is no {kind} calibration for '{identity.body}' in {self.directory}. Run "
                f"`{_RENEW[kind]}` to make one.",
            )
        newest, reasons = refusals[0]
        why = "; ".join(r.reason for r in reasons)
        text = (
            f"The {kind} calibration of {newest.created:%Y-%m-%d %H:%M} for '{newest.body}' is refused: {why}. {renew}"
        )
        return CalibrationFailure(reasons[0].cause, text)


def refuse(record: Record, identity: RigIdentity, now: datetime, max_age: timedelta) -> tuple[CalibrationFailure, ...]:
    """Say everything that speaks against using a stored calibration on this rig now."""
    reasons = list(differences(record.identity, identity))
    age = now - record.created
    if age > max_age:
        text = f"it is {_days(age)} old, at most {_days(max_age)} are allowed"
        reasons.append(CalibrationFailure("too-old", text))
    return tuple(reasons)


def describe(record: Record) -> str:
    """Tell one calibration in plain words, for ``ident calibrate show``."""
    serials = ", ".join(f"{k} {v}" for k, v in sorted(record.serials.items())) or "none recorded"
    lines = [
        f"{record.kind} of '{record.body}' by {record.values.method}, {record.created:%Y-%m-%d %H:%M %Z}",
        f"  {record.verdict}",
        f"  devices: {serials}",
        f"  markers: {len(record.markers) or 'not described'} (layout {record.identity.fingerprint})",
    ]
    for name, value in record.values.model_dump(exclude={"kind", "method", "covariance", "details", "used"}).items():
        lines.append(f"  {name}: {value}")
    return "\n".join(lines)


def _days(age: timedelta) -> str:
    days = age.total_seconds() / 86400.0
    return f"{days:.0f} days" if days >= 2 else f"{24 * days:.0f} hours"


def _read(path: Path) -> Entry:
    try:
        return Entry(path, Record.model_validate_json(path.read_bytes()))
    except OSError as error:
        return Entry(path, None, f"cannot be read: {error.strerror}")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        return Entry(path, None, f"{where}: {first['msg']} ({error.error_count()} problems)")


def _age_key(entry: Entry) -> tuple[datetime, str]:
    oldest = datetime.min.replace(tzinfo=UTC)
    return (oldest if entry.record is None else entry.record.created), entry.name


def _write_whole(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
