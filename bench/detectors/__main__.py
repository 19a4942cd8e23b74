"""Precision and recall of the detectors on labelled spans, and their time, as Markdown tables.

Run: python -m bench.detectors [--misses]

The words of the earlier system are the baseline. The cases are in bench/detectors/cases.
"""

import argparse
import sys

from bench.detectors.classes import by_class
from bench.detectors.corpus import PARTS, cases
from bench.detectors.scoring import Score, by_layers, by_words, by_words_of_output, score
from bench.detectors.timing import TEXTS, microseconds
from treadle.diagnosis.detectors import Layer

WAYS = {
    "thirteen words of failure, anywhere in a span": by_words,
    "the same, outputs alone": by_words_of_output,
    "layer 1: structure": by_layers(Layer.SIGNALS),
    "layer 2: anchored patterns": by_layers(Layer.PATTERNS),
    "both layers": by_layers(Layer.SIGNALS, Layer.PATTERNS),
}


def qualities(*, misses: bool) -> None:
    """One row for each method, one pair of columns for each part."""
    found = {part: cases(part) for part in PARTS}
    heads = " | ".join(
        f"{part.replace('_', ' ')}: {len(found[part])} cases, "
        f"{sum(case.fault for case in found[part])} faults | recall"
        for part in PARTS
    )
    print(f"| precision of | {heads} |\n|---|{'---|' * (2 * len(PARTS))}")
    for name, way in WAYS.items():
        scores = [score(way, found[part]) for part in PARTS]
        cells = " | ".join(f"{each.precision:.3f} | {each.recall:.3f}" for each in scores)
        print(f"| {name} | {cells} |")
        if misses and name == "both layers":
            for part, each in zip(PARTS, scores, strict=True):
                _tell(part, each)


def classes() -> None:
    """The words of the earlier system and both layers, by the look of the spans."""
    ours = by_layers(Layer.SIGNALS, Layer.PATTERNS)
    heads = "cases | faults | words: precision | recall | ours: precision | recall"
    print(f"\n| spans | {heads} | missed | false alarms |\n|---|---|---|---|---|---|---|---|---|")
    parts = {"all": [case for part in PARTS for case in cases(part)], "held out": cases("held_out")}
    for title, of_part in parts.items():
        for name, some in by_class(of_part).items():
            faults = sum(case.fault for case in some)
            plain, judged = score(by_words, some), score(ours, some)
            cells = [f"{each.precision:.3f} | {each.recall:.3f}" for each in (plain, judged)]
            wrong = f"{len(judged.missed)} | {len(judged.false_alarms)}"
            print(f"| {title}: {name} | {len(some)} | {faults} | {' | '.join(cells)} | {wrong} |")


def groups() -> None:
    """Both layers, by the file of the cases."""
    print("\n| both layers | cases | faults | right | missed | false alarms |")
    print("|---|---|---|---|---|---|")
    way = by_layers(Layer.SIGNALS, Layer.PATTERNS)
    for part in PARTS:
        of_part = cases(part)
        for group in dict.fromkeys(case.group for case in of_part):
            some = [case for case in of_part if case.group == group]
            each = score(way, some)
            faults = each.right + len(each.missed)
            print(
                f"| {part.replace('_', ' ')}: {group} | {each.cases} | {faults} | {each.right} "
                f"| {len(each.missed)} | {len(each.false_alarms)} |"
            )


def times() -> None:
    """Processor time for one span, by the kind of its text."""
    print("\n| span with | characters | µs |\n|---|---|---|")
    for name, text in TEXTS.items():
        print(f"| {name} | {len(text):,} | {microseconds(text):,.0f} |")


def _tell(part: str, each: Score) -> None:
    print(f"{part}: missed {', '.join(each.missed) or 'none'}", file=sys.stderr)
    print(f"{part}: false alarms {', '.join(each.false_alarms) or 'none'}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="name the cases that went wrong")
    options = parser.parse_args()
    qualities(misses=options.misses)
    classes()
    groups()
    times()


if __name__ == "__main__":
    main()
