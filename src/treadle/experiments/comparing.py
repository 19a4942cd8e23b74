"""Compares the variants of a batch with one of them: figures, outputs, and what it comes to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from treadle.experiments.differences import OutputDifference, output_difference
from treadle.experiments.judgement import Judgement, Winner, agreed
from treadle.experiments.model import Batch, Cell, Experiment, Outcome
from treadle.experiments.statistics import LEAST_PAIRS, Difference, difference

LEAST_PERCENT = 2.0
"""A change smaller than this is not called better or worse, however sure it is."""

RECORDED = "recorded"
"""Name of the base where the recorded calls themselves are what is compared with."""

_FAILING = 0.5
"""Share of a variant's runs that fail from which on it is a failure."""


_LIMIT = "length"
"""The reason of a reply that ended since no more tokens were allowed."""


class Verdict(StrEnum):
    """What a comparison comes to."""

    BETTER = "better"
    WORSE = "worse"
    TRADE_OFF = "trade-off"
    SAME = "no difference shown"
    FAILURE = "failure"
    NOT_ENOUGH_RUNS = "not enough runs"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge's answers come to. `score` is 1 for each pair that new wins, -1 for base."""

    model: str
    criteria: str
    pairs: int
    new: int
    base: int
    ties: int
    unreadable: int
    swayed: int
    """Ties in which the judge preferred a place: it changed its mind when they were swapped."""
    score: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """One variant against the base. `runs` and `failed` count its own runs.

    Differences are paired: the runs of the same item and repeat. With several items a pair is the
    mean over the repeats of an item, since repeats of one item tell nothing of others.
    """

    variant: str
    model: str | None
    runs: int
    failed: int
    error: str | None
    cost: Difference
    tokens: Difference
    input_tokens: Difference
    output_tokens: Difference
    duration_us: Difference
    ttft_us: Difference
    same_outputs: int
    """Pairs whose outputs are the same."""
    truncated: int
    """Pairs whose new output ended at the limit of tokens."""
    base_truncated: int
    pairs: int
    output: OutputDifference | None
    """Of the first pair whose outputs differ, else of the first pair."""
    judged: tuple[Judged, ...]
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """All variants of a batch but the base, each against it."""

    batch_id: str
    base: str
    base_runs: int
    base_failed: int
    variants: tuple[VariantComparison, ...]


def compare(
    experiment: Experiment,
    batch: Batch,
    judgements: Sequence[Judgement] = (),
    *,
    base: int | None = None,
) -> Comparison:
    """Compare with the variant of number `base`, with None with what was recorded."""
    before = _of_base(experiment, batch, base)
    numbers = [number for number in range(len(batch.plan.variants)) if number != base]
    return Comparison(
        batch_id=batch.id,
        base=RECORDED if base is None else batch.plan.variants[base].name,
        base_runs=len(before),
        base_failed=sum(outcome.error is not None for outcome in before.values()),
        variants=tuple(
            _variant(
                experiment,
                batch,
                number,
                before,
                _about(judgements, number, base),
                measured_once=base is None and len(experiment.items) == 1,
            )
            for number in numbers
        ),
    )


_Place = tuple[int, int]
"""Item and repeat."""


def _of_base(experiment: Experiment, batch: Batch, base: int | None) -> Mapping[_Place, Outcome]:
    if base is None:
        return {
            (item.number, repeat): item.recorded
            for item in experiment.items
            for repeat in range(batch.plan.repeats)
        }
    return _of_variant(batch, base)


def _of_variant(batch: Batch, variant: int) -> Mapping[_Place, Outcome]:
    found = batch.outcomes.items()
    return {(c.item, c.repeat): outcome for c, outcome in found if c.variant == variant}


def _about(judgements: Iterable[Judgement], variant: int, base: int | None) -> list[Judgement]:
    return [each for each in judgements if each.cell.variant == variant and each.base == base]


def _variant(
    experiment: Experiment,
    batch: Batch,
    number: int,
    before: Mapping[_Place, Outcome],
    judgements: Sequence[Judgement],
    *,
    measured_once: bool,
) -> VariantComparison:
    after = _of_variant(batch, number)
    failed = [outcome for outcome in after.values() if outcome.error is not None]
    pairs = {
        place: (before[place], outcome)
        for place, outcome in sorted(after.items())
        if outcome.error is None and place in before and before[place].error is None
    }
    several = len(experiment.items) > 1
    of = _Figures(pairs, before, after, several=several)
    told = [output_difference(one, other) for one, other in pairs.values()]
    changed = [each for each in told if not each.same]
    judged = _judged(judgements, several=several)
    figures = {
        "cost": of.difference("cost"),
        "tokens": of.difference("tokens"),
        "duration_us": of.difference("duration_us"),
    }
    ran = _Ran(
        len(after),
        len(failed),
        sum(outcome.error is not None for outcome in before.values()) / max(1, len(before)),
        truncated=sum(new.finish_reason == _LIMIT for _, new in pairs.values()),
        base_truncated=sum(one.finish_reason == _LIMIT for one, _ in pairs.values()),
        measured_once=measured_once,
    )
    verdict, why = _verdict(figures, judged, ran)
    return VariantComparison(
        variant=batch.plan.variants[number].name,
        model=next((outcome.model for outcome in after.values() if outcome.model), None),
        runs=len(after),
        failed=len(failed),
        error=failed[0].error if failed else None,
        cost=figures["cost"],
        tokens=figures["tokens"],
        input_tokens=of.difference("input_tokens"),
        output_tokens=of.difference("output_tokens"),
        duration_us=figures["duration_us"],
        ttft_us=of.difference("ttft_us"),
        same_outputs=len(told) - len(changed),
        truncated=ran.truncated,
        base_truncated=ran.base_truncated,
        pairs=len(pairs),
        output=next(iter([*changed, *told]), None),
        judged=judged,
        verdict=verdict,
        why=why,
    )


def _by_item(
    figures: Mapping[_Place, tuple[float, float]], *, several: bool
) -> list[tuple[float, float]]:
    """The pairs that count: of several items each its mean."""
    if not several:
        return list(figures.values())
    items: dict[int, list[tuple[float, float]]] = {}
    for (item, _), pair in figures.items():
        items.setdefault(item, []).append(pair)
    return [
        (sum(one for one, _ in each) / len(each), sum(new for _, new in each) / len(each))
        for each in items.values()
    ]


@dataclass(frozen=True, slots=True)
class _Figures:
    """The figures of pairs of outcomes, and those of each side for when there is no pair."""

    pairs: Mapping[_Place, tuple[Outcome, Outcome]]
    before: Mapping[_Place, Outcome]
    after: Mapping[_Place, Outcome]
    several: bool

    def difference(self, name: str) -> Difference:
        values = {
            place: (getattr(one, name), getattr(other, name))
            for place, (one, other) in self.pairs.items()
        }
        known = {
            place: (float(one), float(other))
            for place, (one, other) in values.items()
            if one is not None and other is not None
        }
        return difference(
            _by_item(known, several=self.several),
            base_alone=_known(self.before, name),
            new_alone=_known(self.after, name),
        )


def _known(outcomes: Mapping[_Place, Outcome], name: str) -> list[float]:
    """The figure of one side: of the successful outcomes that know it, else of the failed ones."""
    found = [
        (outcome.error is None, float(value))
        for outcome in outcomes.values()
        if (value := getattr(outcome, name)) is not None
    ]
    succeeded = any(good for good, _ in found)
    return [value for good, value in found if good == succeeded]


def _judged(judgements: Sequence[Judgement], *, several: bool) -> tuple[Judged, ...]:
    asked: dict[tuple[str, str], dict[Cell, dict[bool, Winner]]] = {}
    for each in judgements:
        pairs = asked.setdefault((each.model, each.criteria), {})
        pairs.setdefault(each.cell, {})[each.swapped] = each.winner
    return tuple(
        _judge(model, criteria, pairs, several=several)
        for (model, criteria), pairs in sorted(asked.items())
    )


def _judge(
    model: str, criteria: str, answers: Mapping[Cell, Mapping[bool, Winner]], *, several: bool
) -> Judged:
    whole = {cell: (each[False], each[True]) for cell, each in answers.items() if len(each) == 2}
    said = {cell: agreed(*each) for cell, each in whole.items()}
    winners = list(said.values())
    scores = {Winner.NEW: 1.0, Winner.BASE: -1.0, Winner.TIE: 0.0}
    known = {
        (cell.item, cell.repeat): (0.0, scores[winner])
        for cell, winner in said.items()
        if winner in scores
    }
    return Judged(
        model=model,
        criteria=criteria,
        pairs=len(whole),
        new=winners.count(Winner.NEW),
        base=winners.count(Winner.BASE),
        ties=winners.count(Winner.TIE),
        unreadable=winners.count(Winner.UNREADABLE),
        swayed=sum({*each} == {Winner.NEW, Winner.BASE} for each in whole.values()),
        score=difference(_by_item(known, several=several)),
    )


_WORDS = {"cost": "cost", "tokens": "tokens", "duration_us": "duration"}


@dataclass(frozen=True, slots=True)
class _Ran:
    """How the runs of a variant went. `base_failing` is the share of the base's that failed."""

    runs: int
    failed: int
    base_failing: float
    truncated: int
    base_truncated: int
    measured_once: bool
    """Whether the base is a single recorded call, whose chance nobody knows."""


def _verdict(
    figures: Mapping[str, Difference], judged: Sequence[Judged], ran: _Ran
) -> tuple[Verdict, str]:
    """What it comes to, and a sentence that says from what."""
    failing = f"{ran.failed} of {ran.runs} runs failed"
    if ran.failed and ran.failed >= ran.runs * _FAILING:
        return Verdict.FAILURE, f"{failing}."
    if ran.measured_once:
        return (
            Verdict.NOT_ENOUGH_RUNS,
            (
                "The recorded call is a single run; run the original again to compare the "
                "variant with it."
            ),
        )
    pairs = max(figures["duration_us"].n, figures["tokens"].n)
    if pairs < LEAST_PAIRS:
        return (
            Verdict.NOT_ENOUGH_RUNS,
            (
                f"n = {pairs}; at least {LEAST_PAIRS} pairs are needed to distinguish a "
                "difference from chance."
            ),
        )
    # Tokens are what is paid for; where the cost is known it says the same, only better.
    names = ("cost", "duration_us") if figures["cost"].n == pairs else ("tokens", "duration_us")
    gains: list[str] = []
    losses: list[str] = []
    for name in names:
        sign = _sure(figures[name])
        if sign:
            (losses if sign > 0 else gains).append(_said(_WORDS[name], figures[name]))
    for each in judged:
        low, high = each.score.low, each.score.high
        if low is not None and high is not None and (low > 0 or high < 0):
            won = f"the scoring model {each.model} prefers it {each.new} : {each.base}"
            (gains if low > 0 else losses).append(won)
    if ran.failed > ran.runs * ran.base_failing:
        losses.append(failing)
    if ran.truncated > ran.base_truncated:
        losses.append(
            f"{ran.truncated} of {pairs} outputs are truncated at the maximum number of tokens"
        )
    quality = "" if judged else " The outputs were not scored."
    words = "; ".join([*gains, *losses]) or "No figure differs by more than chance"
    verdict = (
        Verdict.TRADE_OFF if gains and losses
        else Verdict.BETTER if gains
        else Verdict.WORSE if losses
        else Verdict.SAME
    )  # fmt: skip
    return verdict, f"{words[0].upper()}{words[1:]}.{quality}"


def _sure(found: Difference) -> int:
    """1 where a figure surely grew by enough to matter, -1 where it fell, else 0."""
    if found.low is None or found.high is None or abs(found.percent or 0.0) < LEAST_PERCENT:
        return 0
    return 1 if found.low > 0 else -1 if found.high < 0 else 0


def _said(what: str, found: Difference) -> str:
    assert found.percent is not None  # it is sure
    return f"{what} {found.percent:+.1f} % (n = {found.n})"
