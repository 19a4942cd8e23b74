"""Compares the variants of a batch with a base, by figures such as the cost and by outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from treadle.experiments.differences import OutputDifference, output_difference
from treadle.experiments.model import (
    RECORDED,
    Batch,
    Cell,
    Experiment,
    Judgement,
    Outcome,
    Winner,
    agreed,
)
from treadle.experiments.statistics import MIN_PAIRS, Difference, difference

MIN_PERCENT = 2.0
"""The minimum change of a figure in percent.

A smaller change counts as no difference, even if it is significant.
"""

_FAILING = 0.5
"""The verdict on a variant is a failure if at least this share of its runs failed."""

_LIMIT = "length"
"""The finish reason of a reply that reached the maximum number of tokens."""


class Verdict(StrEnum):
    """The result of comparing a variant with the base."""

    BETTER = "better"
    WORSE = "worse"
    TRADE_OFF = "trade-off"
    SAME = "no difference shown"
    FAILURE = "failure"
    NOT_ENOUGH_RUNS = "not enough runs"


@dataclass(frozen=True, slots=True)
class Judged:
    """The totals of a scoring model's answers about pairs of outputs.

    For the difference `score`, a pair counts 1 if the new output wins, -1 if the base output wins,
    and otherwise 0.
    """

    model: str
    criteria: str
    pairs: int
    new: int
    base: int
    ties: int
    unreadable: int
    swayed: int
    """The number of ties in which the model named a different winner in each order."""
    score: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """The comparison of a variant with the base. `runs` and `failed` count runs of the variant.

    A pair consists of a run of the base and a run of the variant for the same item and repeat. With
    several items, the figures of each item are first averaged over its repeats. Otherwise an
    interval would be too narrow, since repeats of one item are not independent samples.
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
    """The number of pairs with equal outputs."""
    truncated: int
    """The number of pairs whose new output ended at the maximum number of tokens.

    `base_truncated` is the same number for the output of the base.
    """
    base_truncated: int
    pairs: int
    output: OutputDifference | None
    """The difference of the first pair with different outputs.

    If all outputs are equal, it is the difference of the first pair.
    """
    judged: tuple[Judged, ...]
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of each variant of a batch with the base, except the base itself."""

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
    """Compare each variant with variant `base`.

    If `base` is None, compare with the recorded calls.
    """
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
                _judgements_of(judgements, number, base),
                measured_once=base is None and len(experiment.items) == 1,
            )
            for number in numbers
        ),
    )


_Position = tuple[int, int]
"""The number of an item, and the number of a repeat of this item."""


def _of_base(experiment: Experiment, batch: Batch, base: int | None) -> Mapping[_Position, Outcome]:
    if base is None:
        return {
            (item.number, repeat): item.recorded
            for item in experiment.items
            for repeat in range(batch.plan.repeats)
        }
    return _of_variant(batch, base)


def _of_variant(batch: Batch, variant: int) -> Mapping[_Position, Outcome]:
    found = batch.outcomes.items()
    return {(c.item, c.repeat): outcome for c, outcome in found if c.variant == variant}


def _judgements_of(
    judgements: Iterable[Judgement], variant: int, base: int | None
) -> list[Judgement]:
    return [each for each in judgements if each.cell.variant == variant and each.base == base]


def _variant(
    experiment: Experiment,
    batch: Batch,
    number: int,
    before: Mapping[_Position, Outcome],
    judgements: Sequence[Judgement],
    *,
    measured_once: bool,
) -> VariantComparison:
    after = _of_variant(batch, number)
    failed = [outcome for outcome in after.values() if outcome.error is not None]
    pairs = {
        position: (before[position], outcome)
        for position, outcome in sorted(after.items())
        if outcome.error is None and position in before and before[position].error is None
    }
    several = len(experiment.items) > 1
    of = _Figures(pairs, before, after, several=several)
    outputs = [output_difference(one, other) for one, other in pairs.values()]
    changed = [each for each in outputs if not each.same]
    judged = _judged(judgements, several=several)
    figures = {
        "cost": of.difference("cost"),
        "tokens": of.difference("tokens"),
        "duration_us": of.difference("duration_us"),
    }
    ran = _RunCounts(
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
        same_outputs=len(outputs) - len(changed),
        truncated=ran.truncated,
        base_truncated=ran.base_truncated,
        pairs=len(pairs),
        output=next(iter([*changed, *outputs]), None),
        judged=judged,
        verdict=verdict,
        why=why,
    )


def _by_item(
    figures: Mapping[_Position, tuple[float, float]], *, several: bool
) -> list[tuple[float, float]]:
    """The pairs of figures. With several items, each pair contains the means of one item."""
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
    """The outcomes of the base (`before`) and of the variant (`after`), and their pairs."""

    pairs: Mapping[_Position, tuple[Outcome, Outcome]]
    before: Mapping[_Position, Outcome]
    after: Mapping[_Position, Outcome]
    several: bool

    def difference(self, name: str) -> Difference:
        values = {
            position: (getattr(one, name), getattr(other, name))
            for position, (one, other) in self.pairs.items()
        }
        known = {
            position: (float(one), float(other))
            for position, (one, other) in values.items()
            if one is not None and other is not None
        }
        return difference(
            _by_item(known, several=self.several),
            base_alone=_known_values(self.before, name),
            new_alone=_known_values(self.after, name),
        )


def _known_values(outcomes: Mapping[_Position, Outcome], name: str) -> list[float]:
    """The known values of the figure `name`.

    Only successful outcomes count. If none succeeded, the failed outcomes count.
    """
    found = [
        (outcome.error is None, float(value))
        for outcome in outcomes.values()
        if (value := getattr(outcome, name)) is not None
    ]
    succeeded = any(good for good, _ in found)
    return [value for good, value in found if good == succeeded]


def _judged(judgements: Sequence[Judgement], *, several: bool) -> tuple[Judged, ...]:
    scored_pairs: dict[tuple[str, str], dict[Cell, dict[bool, Winner]]] = {}
    for each in judgements:
        pairs = scored_pairs.setdefault((each.model, each.criteria), {})
        pairs.setdefault(each.cell, {})[each.swapped] = each.winner
    return tuple(
        _judge(model, criteria, pairs, several=several)
        for (model, criteria), pairs in sorted(scored_pairs.items())
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
class _RunCounts:
    """Counts of a variant's runs. `base_failing` is the share of failed runs of the base."""

    runs: int
    failed: int
    base_failing: float
    truncated: int
    base_truncated: int
    measured_once: bool
    """Whether the base is a single recorded call, whose variation is unknown."""


def _verdict(
    figures: Mapping[str, Difference], judged: Sequence[Judged], ran: _RunCounts
) -> tuple[Verdict, str]:
    """The verdict, and a sentence with its reasons."""
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
    if pairs < MIN_PAIRS:
        return (
            Verdict.NOT_ENOUGH_RUNS,
            (
                f"n = {pairs}; at least {MIN_PAIRS} pairs are needed to distinguish a "
                "difference from chance."
            ),
        )
    # If the cost is unknown for any pair, tokens are compared instead. They determine the cost.
    names = ("cost", "duration_us") if figures["cost"].n == pairs else ("tokens", "duration_us")
    gains: list[str] = []
    losses: list[str] = []
    for name in names:
        sign = _significant_sign(figures[name])
        if sign:
            (losses if sign > 0 else gains).append(_change_text(_WORDS[name], figures[name]))
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


def _significant_sign(found: Difference) -> int:
    """Return 1 for an increase and -1 for a decrease.

    Return 0 for a change that is not significant or is smaller than `MIN_PERCENT`.
    """
    if found.low is None or found.high is None or abs(found.percent or 0.0) < MIN_PERCENT:
        return 0
    return 1 if found.low > 0 else -1 if found.high < 0 else 0


def _change_text(description: str, found: Difference) -> str:
    assert found.percent is not None  # a significant difference has a percentage
    return f"{description} {found.percent:+.1f} % (n = {found.n})"
