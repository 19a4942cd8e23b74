"""Comparisons: figures, pairs, outputs, scores, and each verdict."""

import pytest

from tests.experiments.world import outcome, ran
from treadle.experiments.comparison import Verdict, compare
from treadle.experiments.differences import call_differences, json_changes, text_difference
from treadle.experiments.model import Cell, Judgement, ToolUse, Winner


def test_every_figure_of_a_batch_matches_manual_calculation() -> None:
    original = [
        outcome("a", tokens=(100, 50), cost=0.010, ms=1_000),
        outcome("a", tokens=(100, 60), cost=0.011, ms=1_200),
        outcome("b", tokens=(100, 40), cost=0.009, ms=800),
        outcome("a", tokens=(100, 55), cost=0.0105, ms=1_100),
        outcome("a", tokens=(100, 45), cost=0.0095, ms=900),
    ]
    changed = [
        outcome("a", tokens=(80, 25), cost=0.006, ms=900),
        outcome("x", tokens=(80, 35), cost=0.007, ms=1_300),
        outcome("b", tokens=(80, 20), cost=0.005, ms=700),
        outcome("y", tokens=(80, 30), cost=0.0065, ms=1_000),
        outcome("z", tokens=(80, 15), cost=0.0055, ms=600),
    ]
    experiment, batch = ran(original, changed)
    (found,) = compare(experiment, batch, base=0).variants
    # cost: (10 + 11 + 9 + 10.5 + 9.5) / 5 = 10; (6 + 7 + 5 + 6.5 + 5.5) / 5 = 6; -4 = -40 %
    assert found.cost.base == pytest.approx(0.010)
    assert found.cost.new == pytest.approx(0.006)
    assert found.cost.percent == pytest.approx(-40)
    # tokens: 750 / 5 = 150; (105 + 115 + 100 + 110 + 95) / 5 = 525 / 5 = 105; -45 = -30 %
    assert (found.tokens.base, found.tokens.new, found.tokens.mean) == (150, 105, -45)
    assert found.tokens.percent == pytest.approx(-30)
    # output: 250 / 5 = 50; 125 / 5 = 25; input: 100 to 80
    assert (found.output_tokens.mean, found.input_tokens.mean) == (-25, -20)
    # duration: 5000 / 5 = 1000 ms; 4500 / 5 = 900 ms; differences -100, 100, -100, -100, -300
    assert (found.duration_us.base, found.duration_us.new) == (1_000_000, 900_000)
    assert found.duration_us.mean == -100_000
    # The pairs 1 (a, a) and 3 (b, b) are the same.
    assert (found.same_outputs, found.pairs) == (2, 5)
    # Every pair costs 0.004 less, so the interval is one value; the duration is not significant.
    assert found.cost.high == pytest.approx(-0.004)
    assert found.verdict is Verdict.BETTER
    assert found.why == "Cost -40.0 % (n = 5). The outputs were not scored."


def test_failed_run_excludes_its_pair_on_both_sides() -> None:
    original = [outcome(ms=100), outcome(ms=200), outcome(ms=900)]
    changed = [outcome(ms=50), outcome(ms=100), outcome(error="Too many requests.", ms=1)]
    experiment, batch = ran(original, changed)
    (found,) = compare(experiment, batch, base=0).variants
    assert (found.runs, found.failed, found.pairs, found.error) == (3, 1, 2, "Too many requests.")
    # (100 + 200) / 2 = 150; (50 + 100) / 2 = 75
    assert (found.duration_us.base, found.duration_us.new) == (150_000, 75_000)


def test_each_call_counts_once_for_any_number_of_repeats() -> None:
    # Two calls, three times each: 10, 20, 30 (mean 20) and 100, 100, 100.
    original = [outcome(tokens=(0, n)) for n in (10, 20, 30, 100, 100, 100)]
    changed = [outcome(tokens=(0, n)) for n in (10, 10, 10, 40, 40, 40)]
    experiment, batch = ran(original, changed, items=2)
    (found,) = compare(experiment, batch, base=0).variants
    # (20 + 100) / 2 = 60; (10 + 40) / 2 = 25
    assert (found.tokens.n, found.tokens.base, found.tokens.new) == (2, 60, 25)
    assert found.pairs == 6
    assert found.verdict is Verdict.NOT_ENOUGH_RUNS


@pytest.mark.parametrize(
    ("tokens", "ms", "failed", "verdict"),
    [
        (5, 50, 0, Verdict.BETTER),
        (20, 100, 0, Verdict.WORSE),
        (5, 200, 0, Verdict.TRADE_OFF),
        (10, 100, 0, Verdict.SAME),
        (10, 101, 0, Verdict.SAME),  # 1 % is too small, even if it is significant
        (5, 50, 3, Verdict.FAILURE),
    ],
)
def test_verdict_follows_from_significant_differences(
    tokens: int, ms: int, failed: int, verdict: Verdict
) -> None:
    original = [outcome(tokens=(0, 10), ms=100)] * 6
    changed = [outcome(tokens=(0, tokens), ms=ms)] * (6 - failed)
    changed += [outcome(error="It broke.")] * failed
    experiment, batch = ran(original, changed)
    (found,) = compare(experiment, batch, base=0).variants
    assert found.verdict is verdict


def test_more_failures_and_lower_cost_are_a_trade_off() -> None:
    original = [outcome(tokens=(0, 10))] * 7
    changed = [outcome(tokens=(0, 5))] * 6 + [outcome(error="It broke.")]
    experiment, batch = ran(original, changed)
    (found,) = compare(experiment, batch, base=0).variants
    assert found.verdict is Verdict.TRADE_OFF
    assert "1 of 7 runs failed" in found.why


def test_lower_cost_from_truncated_output_is_not_better() -> None:
    original = [outcome(tokens=(0, 10), finish_reason="stop")] * 5
    changed = [outcome(tokens=(0, 5), finish_reason="length")] * 5
    experiment, batch = ran(original, changed)
    (found,) = compare(experiment, batch, base=0).variants
    assert (found.truncated, found.base_truncated) == (5, 0)
    assert found.verdict is Verdict.TRADE_OFF
    assert "5 of 5 outputs are truncated at the maximum number of tokens" in found.why


def test_single_recorded_call_is_not_enough_to_compare() -> None:
    experiment, batch = ran([outcome(tokens=(0, 5))] * 8, recorded=outcome(tokens=(0, 10)))
    compared = compare(experiment, batch)
    (found,) = compared.variants
    assert compared.base == "recorded"
    assert found.tokens.percent == -50
    assert found.verdict is Verdict.NOT_ENOUGH_RUNS


def test_tokens_replace_unknown_costs() -> None:
    experiment, batch = ran([outcome(cost=None)] * 5, [outcome(cost=0.5, tokens=(0, 1))] * 5)
    (found,) = compare(experiment, batch, base=0).variants
    assert (found.cost.n, found.cost.percent) == (0, None)
    assert found.why.startswith("Tokens -93.3 %")


def _said(repeat: int, first: Winner, second: Winner) -> list[Judgement]:
    return [
        Judgement(
            cell=Cell(1, 0, repeat), base=0, model="j", criteria="c", swapped=swapped,
            winner=winner, reason="", trace_id="t", span_id="s",
        )
        for swapped, winner in ((False, first), (True, second))
    ]  # fmt: skip


def test_scores_count_only_if_both_orders_agree() -> None:
    new, base, tie = Winner.NEW, Winner.BASE, Winner.TIE
    said = [(new, new)] * 5 + [(new, base), (tie, new), (Winner.UNREADABLE, new), (base, base)]
    judgements = [each for n, (a, b) in enumerate(said) for each in _said(n, a, b)]
    judgements += _said(9, new, new)[:1]  # one answer of a pair does not count
    experiment, batch = ran([outcome()] * 10, [outcome()] * 10)
    (found,) = compare(experiment, batch, judgements, base=0).variants
    (judged,) = found.judged
    assert (judged.pairs, judged.new, judged.base, judged.ties) == (9, 5, 1, 2)
    assert (judged.unreadable, judged.swayed) == (1, 1)
    # 5 · 1 + 2 · 0 + 1 · -1 = 4 over the 8 readable pairs
    assert judged.score.new == pytest.approx(0.5)
    assert judged.score.n == 8


def test_clear_scores_decide_without_different_figures() -> None:
    judgements = [each for n in range(6) for each in _said(n, Winner.BASE, Winner.BASE)]
    experiment, batch = ran([outcome()] * 6, [outcome()] * 6)
    (found,) = compare(experiment, batch, judgements, base=0).variants
    assert found.verdict is Verdict.WORSE
    assert found.why == "The scoring model j prefers it 0 : 6."


def test_texts_json_and_calls_are_compared() -> None:
    text = text_difference("one\ntwo", "one\n2")
    assert not text.same
    assert "-two\n+2" in text.diff
    assert text.similarity == 0.5  # 2 · 1 common word of 4
    changes = json_changes('{"a": 1, "b": [1, 2], "c": true}', '```json\n{"a": 2, "b": [1]}\n```')
    assert changes is not None
    assert [(each.path, each.change, each.base, each.new) for each in changes] == [
        ("a", "changed", "1", "2"),
        ("b[1]", "removed", "2", None),
        ("c", "removed", "true", None),
    ]
    assert json_changes("[1]", "prose") is None
    assert json_changes("[1]", "[true]") != ()
    calls = call_differences(
        [ToolUse("f", '{"a": 1, "b": 2}'), ToolUse("g", "{}"), ToolUse("h", "{")],
        [ToolUse("f", '{"b":2,"a":1}'), ToolUse("g", '{"x": 1}'), ToolUse("i", "{}")],
    )
    assert [(each.name, each.change) for each in calls] == [
        ("g", "arguments"),
        ("h", "removed"),
        ("i", "added"),
    ]


def test_each_side_shows_its_known_figures_without_pairs() -> None:
    recorded = outcome(tokens=(100, 50), cost=0.01, ms=1_000)
    failed = [outcome(tokens=None, ms=None, error="refused")] * 2
    experiment, batch = ran(failed, recorded=recorded)
    (found,) = compare(experiment, batch).variants
    assert (found.cost.base, found.tokens.base, found.duration_us.base) == (0.01, 150, 1_000_000)
    assert (found.cost.new, found.tokens.new, found.duration_us.new) == (None, None, None)
    assert (found.cost.n, found.cost.percent, found.cost.mean) == (0, None, None)


def test_failed_runs_show_their_figures_if_none_succeeded() -> None:
    experiment, batch = ran(
        [outcome(cost=0.02, ms=300, error="cut"), outcome(cost=0.04, ms=500, error="cut")],
        recorded=outcome(cost=None),
    )
    (found,) = compare(experiment, batch).variants
    assert found.cost.base is None
    assert found.cost.new == pytest.approx(0.03)
    assert (found.duration_us.base, found.duration_us.new) == (100_000, 400_000)
    assert found.duration_us.percent is None


def test_run_without_cost_keeps_the_other_figures() -> None:
    experiment, batch = ran([outcome(cost=None, ms=50)], recorded=outcome(cost=0.01, ms=100))
    (found,) = compare(experiment, batch).variants
    assert (found.cost.base, found.cost.new, found.cost.percent) == (0.01, None, None)
    assert found.duration_us.percent == -50
