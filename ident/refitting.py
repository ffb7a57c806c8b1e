"""Recorded sessions fitted again with today's algorithms, one or a whole archive, and what changed."""

import csv
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

from ident.errors import IdentError
from ident.identify import build_tree
from ident.imported import imported_measurement
from ident.model.compare import Difference, compare
from ident.placing import finished_model
from ident.recorded import recorded_rig
from ident.reprocess import refit
from ident.resume import measurement_of
from ident.tree import KinematicTree
from ident.workflow.quality import QualityLimits
from ident.workflow.state import State
from sessions import open_session


@cache
def _version() -> str:
    return version("ident")


@dataclass(frozen=True)
class RefitSettings:
    """What to do differently from the recording."""

    noise: float | None = None
    """Position noise in metres; None: estimated."""
    types: Mapping[str, str] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)

    def key(self, session: Path) -> str:
        """Name under which the result for a session is kept, so that an interrupted run goes on."""
        made_of = [str(session.resolve()), session.stat().st_mtime_ns, _version(), asdict(self)]
        about = json.dumps(made_of, sort_keys=True)
        return hashlib.sha256(about.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Change:
    """One joint or handle, before and after; or a whole session that could not be fitted again."""

    session: str
    node: str = ""
    kind: str = ""
    axis_deg: float | None = None
    """Angle between the axes."""
    position_mm: float | None = None
    """Distance of the new origin from the old axis."""
    range_change: float | None = None
    """Radians or metres."""
    axis_std_deg: float | None = None
    position_std_mm: float | None = None
    residual_mm: float | None = None
    """Root mean square distance of the samples used from the new fit."""
    samples: int | None = None
    samples_used: int | None = None
    verdict_before: str = ""
    verdict_after: str = ""
    error: str = ""


COLUMNS = tuple(Change.__dataclass_fields__)


def refit_session(path: Path, settings: RefitSettings) -> tuple[list[Change], KinematicTree | None]:
    """Fit one session again; whatever goes wrong with it becomes a row, so that the others go on."""
    try:
        session = open_session(path)
        imported = not session.events()
        state, data = imported_measurement(session) if imported else measurement_of(session)
        unknown = [name for name in settings.types if name not in state.plan]
        if unknown:
            return [Change(path.name, name, error=f"there is no '{name}' in this session") for name in unknown], None
        recorded = QualityLimits() if imported else recorded_rig(session).limits()
        limits = QualityLimits(**{**asdict(recorded), **settings.quality})
        nodes = [node.name for node in state.plan] if imported else None
        again = refit(state, data, limits, types=settings.types, noise=settings.noise, nodes=nodes)
    except Exception as error:  # noqa: BLE001 - one broken session must not end a night's work on an archive
        explained = getattr(error, "explains_itself", False)
        return [Change(path.name, error=str(error) if explained else f"{type(error).__name__}: {error}")], None
    if imported and not again.results:
        return [Change(path.name, error=_reason(again))], None
    return changes(path.name, state, again), finished_model(again)


def changes(name: str, before: State, after: State) -> list[Change]:
    """What differs between two states of the same object, node by node."""
    old, new = build_tree(before, accepted_only=True), build_tree(after, accepted_only=True)
    return [_change(name, difference, new, before, after) for difference in compare(old, new)]


def _reason(state: State) -> str:
    return state.verdict.findings[0].message if state.verdict else "nothing was fitted"


def _change(name: str, moved: Difference, new: KinematicTree, before: State, after: State) -> Change:
    def verdict(state: State) -> str:
        result = state.result(moved.name)
        return "" if result is None else ("good" if result.verdict.good else result.verdict.findings[0].code)

    if moved.name not in new.nodes:
        return Change(name, moved.name, verdict_before=verdict(before), error=_reason(after))
    node = new[moved.name]
    evidence = node.evidence
    spans = [high - low for _, _, low, high in moved.limits]
    return Change(
        name,
        moved.name,
        node.kind,
        axis_deg=_finite(math.degrees(moved.axis)),
        position_mm=_finite(moved.position * 1e3),
        range_change=spans[0] if len(spans) == 1 else None,
        axis_std_deg=math.degrees(evidence.axis_std) if evidence else None,
        position_std_mm=evidence.position_std * 1e3 if evidence else None,
        residual_mm=evidence.rms * 1e3 if evidence else None,
        samples=evidence.samples if evidence else None,
        samples_used=evidence.inliers if evidence else None,
        verdict_before=verdict(before),
        verdict_after=verdict(after),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def refit_archive(
    paths: Sequence[Path], settings: RefitSettings, folder: Path, *, jobs: int = 1, dask: str | None = None
) -> Iterator[tuple[Path, list[Change]]]:
    """Fit many sessions again, each result kept as it comes; those that an earlier run finished are not repeated."""
    kept = folder / "sessions"
    kept.mkdir(parents=True, exist_ok=True)
    waiting: list[Path] = []
    for path in paths:
        done = kept / f"{settings.key(path)}.json"
        if done.exists():
            yield path, [Change(**row) for row in json.loads(done.read_text(encoding="utf-8"))]
        else:
            waiting.append(path)
    with _backend(dask):
        tasks = (joblib.delayed(_task)(path, settings) for path in waiting)
        runner = joblib.Parallel(n_jobs=jobs if dask is None else -1, return_as="generator_unordered", batch_size=1)
        for path, rows in runner(tasks):
            if not any(row.error for row in rows):  # what failed is tried again next time
                part = kept / f"{settings.key(path)}.part"
                part.write_text(json.dumps([asdict(row) for row in rows]), encoding="utf-8")
                part.replace(part.with_suffix(".json"))
            yield path, rows


def _task(path: Path, settings: RefitSettings) -> tuple[Path, list[Change]]:
    return path, refit_session(path, settings)[0]


@contextmanager
def _backend(dask: str | None) -> Iterator[None]:
    if dask is None:
        # Each worker is busy with a session of its own: threads within it would only wait for each other.
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            yield
        return
    try:
        import distributed
    except ImportError:
        raise IdentError("--dask needs the cluster extra: pip install 'ident[cluster]'.") from None
    connect: Any = distributed.Client
    try:
        client = connect(dask, timeout="5s")
    except (OSError, ValueError) as error:
        raise IdentError(f"No Dask scheduler answers at {dask}: {error}. Check its address.") from None
    with client, joblib.parallel_config(backend="dask"):
        yield


def write_table(rows: Sequence[Change], path: Path) -> None:
    """Write all changes as CSV, or as Parquet where the name says so."""
    if path.suffix == ".parquet":
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise IdentError("A .parquet table needs the table extra: pip install 'ident[table]'.") from None

        parquet.write_table(pa.Table.from_pylist([asdict(row) for row in rows]), path)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
