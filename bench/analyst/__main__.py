"""The deterministic report on planted faults, and the time of summaries, as Markdown tables.

Run: python -m bench.analyst [--only planted|summary] [--seed N] [--misses]

The tuned cases shaped the ranking; the held-out ones did not. Progress goes to standard error.
Seconds are processor time.
"""

import argparse
import statistics
import sys
from collections.abc import Iterable

from bench.analyst import summary
from bench.analyst.cases import TUNED, Planted, healthy, plant
from bench.analyst.held_out import HELD_OUT
from bench.analyst.held_out_apps import HELD_OUT_APPS
from bench.analyst.scoring import Score, scores

SEED = 2026
HEALTHY = 12


def planted(seed: int, *, misses: bool) -> str:
    """One row for each set of traces."""
    sets: dict[str, Iterable[Planted]] = {
        "tuned on": (plant(case, seed + at) for at, case in enumerate(TUNED)),
        "held out": (plant(case, seed + at, HELD_OUT_APPS) for at, case in enumerate(HELD_OUT)),
        "good runs": healthy(seed, HEALTHY),
        "good runs, held out": healthy(seed, HEALTHY, HELD_OUT_APPS),
    }
    lines = [
        (
            "| traces | number | spans | right span first | named rightly | false alarms in all"
            " | tokens, median (largest) | seconds, median (largest) |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, made in sets.items():
        print(f"analyst: {name}", file=sys.stderr)
        lines.append(_row(name, list(scores(made)), misses=misses))
    return "\n".join(lines)


def _row(name: str, found: list[Score], *, misses: bool) -> str:
    sizes = [len(score.planted.spans) for score in found]
    faulty = [score for score in found if score.planted.cause is not None]
    first = f"{sum(score.first for score in faulty)} of {len(faulty)}" if faulty else "-"
    named = f"{sum(score.named for score in faulty)} of {len(faulty)}" if faulty else "-"
    tokens = [score.tokens for score in found]
    seconds = [score.seconds for score in found]
    if misses:
        _tell(found)
    return (
        f"| {name} | {len(found)} | {min(sizes):,} to {max(sizes):,} | {first} | {named}"
        f" | {sum(score.false_alarms for score in found)}"
        f" | {statistics.median(tokens):,.0f} ({max(tokens):,})"
        f" | {statistics.median(seconds):.2f} ({max(seconds):.1f}) |"
    )


def _tell(found: Iterable[Score]) -> None:
    for score in found:
        missed = score.planted.cause is not None and not score.first
        if missed or score.false_alarms:
            word = "missed" if missed else "false alarm"
            issues = ", ".join(f"{each.kind.value} ({each.severity.value}) at {each.name}"
                               for each in score.report.issues[:3])  # fmt: skip
            print(f"{word}: {score.planted.case.name}: {issues or 'nothing'}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("planted", "summary"), help="one part alone")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--misses", action="store_true", help="name the traces that went wrong")
    options = parser.parse_args()
    parts = []
    if options.only != "summary":
        parts.append(planted(options.seed, misses=options.misses))
    if options.only != "planted":
        parts.append(summary.measure())
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
