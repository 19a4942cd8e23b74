"""Quotes and links are verified, and the wrong ones are removed and counted."""

from dataclasses import replace
from pathlib import Path

from tests.diagnosis.report.spans import named, run, span, stored, tool
from treadle.diagnosis.detectors import Severity, detect
from treadle.diagnosis.evidence import Evidence
from treadle.diagnosis.quote_verification import verify_answer, verify_findings
from treadle.diagnosis.report import (
    Cause,
    Suspect,
    analyse,
    render,
)
from treadle.diagnosis.report.report import verified_suspects
from treadle.spans.page_links import span_link
from treadle.spans.span import SpanStatus
from treadle.traces.query import Query

FAILED = tool("s1", None, status=SpanStatus.ERROR, error="connection refused by 10.0.0.7")
TRUE = Evidence(named("s1"), "error", 0, 18, "connection refused")
MOVED = Evidence(named("s1"), "error", 1, 19, "connection refused")
MADE_UP = Evidence(named("s1"), "error", 0, 5, "never")
OF_NOTHING = Evidence(named("gone"), "error", 0, 5, "never")


def test_only_findings_whose_quote_is_at_its_position_are_kept(tmp_path: Path) -> None:
    (finding,) = detect([FAILED])
    wrong = [replace(finding, evidence=each) for each in (MOVED, MADE_UP, OF_NOTHING)]
    with stored(tmp_path, [run(), FAILED]) as store:
        assert verify_findings([replace(finding, evidence=TRUE), *wrong], store) == (
            (replace(finding, evidence=TRUE),),
            3,
        )


def test_suspect_without_verified_evidence_is_removed(tmp_path: Path) -> None:
    def suspect(*evidence: Evidence, at: str = "s1") -> Suspect:
        return Suspect(
            span=named(at), name="x", kind=Cause.FAILED_CALL, severity=Severity.HIGH,
            why=("It failed.",), evidence=evidence, score=1,
        )  # fmt: skip

    with stored(tmp_path, [run(), FAILED]) as store:
        kept, dropped = verified_suspects(
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


def test_links_and_quotes_of_any_report_are_verified(tmp_path: Path) -> None:
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
    assert span_link("t1", "s/1 ?&\u00e9") in text
