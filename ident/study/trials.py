"""Many trials: in parallel, each result kept as it comes, so that an interrupted study goes on where it stopped."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

MEASURED = ("fitting", "calibration", "devices", "ident/joints", "ident/handles", "ident/workflow", "ident/study")
"""Folders whose code decides what a trial gives."""
REPORTING = ("scores.py", "tables.py", "figures.py", "reports.py", "page.py")
"""Files of the study that only show results."""


@dataclass(frozen=True)
class Task:
    """One trial of one experiment."""

    experiment: str
    trial: int
    seed: int
    """Seed of the whole study; that of the trial follows from it, the experiment and the trial's number."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def trial_seed(self) -> int:
        """Seed of this trial alone, the same however the trials are spread over processes."""
        name = int.from_bytes(hashlib.sha256(self.experiment.encode()).digest()[:4], "big")
        return int(np.random.SeedSequence([self.seed, name, self.trial]).generate_state(1)[0])

    def key(self) -> str:
        """Name under which the result is kept: of what was asked, and of the code that answered."""
        about = [self.experiment, self.trial, self.seed, dict(self.parameters), source_digest()]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]
        return f"{self.experiment.replace('/', '-')}-{self.trial}-{digest}"


def run_tasks(
    function: Callable[[Task], Any],
    tasks: Sequence[Task],
    folder: Path,
    *,
    jobs: int = 1,
    on_done: Callable[[int], None] = lambda _: None,
) -> list[Any]:
    """Results (plain data) of all tasks in their order; those that an earlier run finished are read, not repeated."""
    kept = folder / "trials"
    kept.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    waiting: list[Task] = []
    for task in tasks:
        done = kept / f"{task.key()}.json"
        if done.exists():
            results[task.key()] = json.loads(done.read_text(encoding="utf-8"))
        else:
            waiting.append(task)
    on_done(len(results))
    runner = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    for task, found in runner(joblib.delayed(_answered)(function, task) for task in waiting):
        text = json.dumps(found)
        part = kept / f"{task.key()}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(part.with_suffix(".json"))
        results[task.key()] = json.loads(text)
        on_done(1)
    return [results[task.key()] for task in tasks]


def _answered(function: Callable[[Task], Any], task: Task) -> tuple[Task, Any]:
    return task, function(task)


@cache
def source_digest() -> str:
    """Digest of the code and scenes behind the figures, so that results of another version are never mixed in."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(p for name in MEASURED for p in (root / name).rglob("*") if p.suffix in (".py", ".toml")):
        if path.parent.name != "study" or path.name not in REPORTING:
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    for name in (
        "identify.py",
        "likeliest.py",
        "observing.py",
        "habits.py",
        "systematic.py",
        "takes.py",
        "truth.py",
        "simulated.py",
    ):
        digest.update((root / "ident" / name).read_bytes())
    return digest.hexdigest()[:12]


def provenance(study: str, seed: int, trials: int, **parameters: Any) -> dict[str, Any]:
    """What every result carries, so that it can be made again."""
    about = {"study": study, "version": version("ident"), "source": source_digest(), "seed": seed, "trials": trials}
    return {**about, **parameters}
