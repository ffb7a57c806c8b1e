"""Which advice each bad take of the simulated operator gets, how often a good one is blamed, and types found out.

python -m bench.advice [CASES_PER_STYLE] [STYLE ...] [--seed FIRST]

Every case is a take of another seed, joint or handle through the real fit, with the calibration and the ancestors of
a measurement with that seed. `matching` counts takes whose findings hold the advice for what was done wrong, `first`
those in which it is the first thing that the operator reads. `find out` is the share of good takes of joints without
a given type whose type was named, with hinges and levers of 15° and more beside those of the objects.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import devices.sim
from ident.study.advice import MATCHING, SCENES, Case, Measured, cases
from ident.workflow.quality import QualityLimits

ARCS_DEG = (15, 18, 22, 30, 45)
SCENE_FILES = Path(devices.sim.__file__).parent / "scenes"


def doors(folder: Path, seed: int) -> list[Measured]:
    """Doors that open by a short arc only."""
    found = []
    for arc in ARCS_DEG:
        text = (SCENE_FILES / "door.toml").read_text().replace("range_deg = 88.0", f"range_deg = {arc}.0")
        path = folder / f"door{arc}.toml"
        path.write_text(text.replace("range_deg = 20.0", f"range_deg = {max(arc, 20)}.0"))
        found.append(Measured(path, seed))
    return found


def show_advice(style: str, found: list[Case]) -> None:
    """One line for a style, and the first few takes that got other advice."""
    right = sum(c.matched for c in found) / len(found)
    first = sum(c.matched_first for c in found) / len(found)
    said = Counter(code for c in found for code in c.codes)
    print(f"{style:10} {len(found):5} {right:9.1%} {first:7.1%}  {dict(said.most_common())}", flush=True)
    for c in [c for c in found if not c.matched][:8]:
        print(f"    {c.scene} seed {c.seed} {c.node}: {c.codes} {c.verdict.summary}")


def show_types(measured: list[Measured], count: int) -> None:
    """Types found out, true type by named type."""
    named: Counter[tuple[str, str]] = Counter()
    limits = QualityLimits()
    pool = [(m, joint) for m in measured for joint in m.joints()]
    for i in range(count):
        m, joint = pool[i % len(pool)]
        held = i % 5 == 4
        case = m.find_out(joint, "normal" if i % 2 else "careful", limits, held=held)
        true = "fixed" if held else m.state.plan.node(joint).kind
        named[true, case.kind or "none"] += 1
        if case.kind != true:
            print(f"    {case.scene} seed {m.seed} {joint}: {true}, named {case.kind or 'none'}; {case.codes}")
    right = sum(n for (true, kind), n in named.items() if true == kind) / count
    print(f"find out   {count:5} {right:9.1%}  {dict(named)}", flush=True)


def main(count: int, styles: list[str], first: int) -> None:
    limits = QualityLimits()
    seeds = range(first, first + 1 + count // 50)
    measured = [Measured(scene, seed) for seed in seeds for scene in SCENES]
    print(f"{'style':10} {'cases':>5} {'matching':>9} {'first':>7}  findings")
    for style in styles or MATCHING:
        if style != "types":
            show_advice(style, list(cases(style, count, measured, limits)))
    if not styles or "types" in styles:
        with tempfile.TemporaryDirectory() as folder:
            show_types([*measured, *(d for seed in seeds for d in doors(Path(folder), seed))], count)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", type=int, default=200, help="cases of each style")
    parser.add_argument("styles", nargs="*", help="styles, or `types`; all by default")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    asked = parser.parse_args()
    main(asked.cases, asked.styles, asked.seed)
