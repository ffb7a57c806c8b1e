"""Doing the same with every session of an archive: in parallel, resumable, with failures kept apart.

Each finished session is written to a journal at once, so that an interrupted run goes on where it stopped. The work is
spread by joblib, over processes of this machine or over a Dask cluster.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sessions.errors import SessionError

Row = dict[str, Any]
"""Column → text, number or None."""
Job = Callable[[Path], Sequence[Row]]
"""Takes a session's path and gives rows of the result table. It must be importable where it runs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one session."""

    path: Path
    rows: tuple[Row, ...] = ()
    error: str = ""
    """Empty, or why there are no rows."""


def work_through(
    paths: Iterable[Path],
    job: Job,
    journal: Path,
    *,
    settings: Mapping[str, Any],
    jobs: int = 1,
    dask: str | None = None,
    on_progress: Callable[[int, int, Outcome], None] | None = None,
) -> tuple[Outcome, ...]:
    """Run a job over sessions and return all outcomes in the order of ``paths``.

    ``journal`` is a file of JSON lines. Sessions in it that are unchanged, were done with the same ``settings`` and
    did not fail are not done again. ``jobs`` counts processes; with ``dask``, the address of a scheduler
    (``tcp://…``), its workers do it. ``on_progress`` is told how many of how many are done, and the newest.
    """
    wanted = list(dict.fromkeys(Path(path) for path in paths))
    keys = {path: _key(path, settings) for path in wanted}
    done = {path: outcome for path, outcome in _read(journal, keys).items() if not outcome.error}
    todo = [path for path in wanted if path not in done]
    if todo:
        journal.parent.mkdir(parents=True, exist_ok=True)
        with journal.open("a", encoding="utf-8") as log:
            for outcome in _outcomes(todo, job, jobs, dask):
                log.write(json.dumps(_entry(outcome, keys[outcome.path]), ensure_ascii=False) + "\n")
                log.flush()
                done[outcome.path] = outcome
                if on_progress is not None:
                    on_progress(len(done), len(wanted), outcome)
    return tuple(done[path] for path in wanted)


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV, or as Parquet where the path ends so; missing values are empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise SessionError("Writing Parquet needs pyarrow. Install `ident[table]`, or choose a .csv.") from error
        table = pa.table({name: [row.get(name) for row in rows] for name in columns})
        parquet.write_table(table, path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def _outcomes(todo: Sequence[Path], job: Job, jobs: int, dask: str | None) -> Iterator[Outcome]:
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if jobs == 1 and dask is None:
        # One thread for linear algebra, as in the processes below: results do not depend on how the work is spread.
        with threadpool_limits(1):
            yield from (_attempt(job, path) for path in todo)
        return
    with _backend(jobs, dask):
        tasks = (delayed(_attempt)(job, path.resolve()) for path in todo)
        at_home = {path.resolve(): path for path in todo}
        for outcome in Parallel(n_jobs=jobs if dask is None else -1, batch_size=1, return_as="generator_unordered")(
            tasks
        ):
            yield Outcome(at_home[outcome.path], outcome.rows, outcome.error)


@contextmanager
def _backend(jobs: int, dask: str | None) -> Iterator[None]:
    from joblib import parallel_config

    if dask is None:
        with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise SessionError("Work on a cluster needs Dask. Install `ident[cluster]`.") from error
    try:
        client: Any = Client(dask, timeout=10)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise SessionError(f"No Dask scheduler answers at {dask}: {error}. Start one, or use --jobs.") from error
    with client, parallel_config("dask", wait_for_workers_timeout=30):
        yield


def _attempt(job: Job, path: Path) -> Outcome:
    try:
        return Outcome(path, tuple(job(path)))
    except Exception as error:  # noqa: BLE001 - one bad session must not end a night's work; its reason is kept
        told = str(error) if getattr(error, "explains_itself", False) else f"{type(error).__name__}: {error}"
        return Outcome(path, error=told or type(error).__name__)


def _key(path: Path, settings: Mapping[str, Any]) -> str:
    """Changes when the session or the settings change."""
    try:
        status = path.stat()
        size, changed = status.st_size, status.st_mtime_ns
    except OSError:
        size, changed = -1, 0
    text = json.dumps([str(path.resolve()), size, changed, dict(settings)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _entry(outcome: Outcome, key: str) -> Row:
    return {"session": str(outcome.path), "key": key, "rows": list(outcome.rows), "error": outcome.error}


def _read(journal: Path, keys: Mapping[Path, str]) -> dict[Path, Outcome]:
    """Outcomes of an earlier run; lines that are cut off or of other settings are passed over."""
    if not journal.exists():
        return {}
    by_key = {key: path for path, key in keys.items()}
    found: dict[Path, Outcome] = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
            path = by_key[entry["key"]]
            found[path] = Outcome(path, tuple(entry["rows"]), str(entry["error"]))
        except (ValueError, KeyError, TypeError):
            continue
    return found
