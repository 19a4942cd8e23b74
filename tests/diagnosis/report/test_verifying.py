"""What is shown was read again: quotes and links that do not hold are left out and counted."""

from pathlib import Path

from tests.diagnosis.report.spans import named, run, span, stored, tool
from treadle.diagnosis.detectors import Severity, detect
from treadle.diagnosis.evidence import Evidence
from treadle.diagnosis.report import (
    Cause,
    Suspect,
    analyse,
    render,
    verify,
    verify_answer,
    verify_findings,
    verify_suspects,
)
from treadle.spans.page_links import span_link
from treadle.spans.span import SpanStatus
from treadle.traces.query import Query

FAILED = tool("s1", None, status=SpanStatus.ERROR, error="connection refused by 10.0.0.7")
TRUE = Evidence(named("s1"), "error", 0, 18, "connection refused")
MOVED = Evidence(named("s1"), "error", 1, 19, "connection refused")
MADE_UP = Evidence(named("s1"), "error", 0, 5, "never")
OF_NOTHING = Evidence(named("gone"), "error", 0, 5, "never")


def test_only_evidence_that_stands_where_it_says_is_kept(tmp_path: Path) -> None:
    with stored(tmp_path, [run(), FAILED]) as store:
        found = verify([TRUE, MOVED, MADE_UP, OF_NOTHING], store)
        assert (found.kept, found.dropped) == ((TRUE,), 3)
        findings = detect([FAILED])
        assert verify_findings(findings, store) == (findings, 0)


def test_a_suspect_without_any_evidence_that_holds_goes(tmp_path: Path) -> None:
    def suspect(*evidence: Evidence, at: str = "s1") -> Suspect:
        return Suspect(
            span=named(at), name="x", kind=Cause.FAILED_CALL, severity=Severity.HIGH,
            why=("It failed.",), evidence=evidence, score=1,
        )  # fmt: skip

    with stored(tmp_path, [run(), FAILED]) as store:
        kept, dropped = verify_suspects(
            [suspect(TRUE, MOVED), suspect(MADE_UP), suspect(), suspect(at="gone")], store
        )
    assert [each.evidence for each in kept] == [(TRUE,), ()]
    assert dropped == 2


def test_lines_of_an_answer_with_wrong_links_or_quotes_are_left_out(tmp_path: Path) -> None:
    good, gone = span_link("t1", "s1"), span_link("t1", "gone")
    lines = [
        "The run failed.",
        f'It says "connection refused by 10.0.0.7" ([open]({good})).',
        f"“connection refused by …” at {good}",
        f'It says "connection was reset by peer" ({good}).',
        f"See {gone}.",
    ]
    with stored(tmp_path, [run(), FAILED]) as store:
        answer = verify_answer("\n".join(lines), store)
    assert answer.text.split("\n") == lines[:3]
    assert list(answer.dropped) == lines[3:]
    assert answer.links == (named("s1"),)


def test_ids_and_quotes_of_any_kind_are_found_again_in_a_report(tmp_path: Path) -> None:
    odd = span(
        "s/1 ?&\u00e9",
        "run",
        name='execute "it" | [now](http://evil.example)',
        status=SpanStatus.ERROR,
        error='bad | "quoted" \u202e<b>*text*</b>\nsecond line `code`',
    )
    with stored(tmp_path, [run(), odd]) as store:
        text = render(analyse(store, Query(), now_us=0))
        answer = verify_answer(text, store)
    assert answer.dropped == ()
    assert answer.text == text
    assert named("s/1 ?&\u00e9") in answer.links
