"""Traces exchanged, pruned and deleted from the command line."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.command import Ran, treadle
from tests.spans.runs import span
from treadle.cli import trace_selections
from treadle.cli.commands import traces as traces_commands
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore

KEY = "sk-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def seed(home: Path, *spans: Span) -> None:
    store = TraceStore.open(home / "data" / "traces.db")
    store.write(spans).result()
    store.close()


def stored(home: Path, trace_id: str = "trace") -> tuple[Span, ...]:
    store = TraceStore.open(home / "data" / "traces.db")
    try:
        return store.trace(trace_id).spans
    finally:
        store.close()


def traces(home: Path, *words: str) -> Ran:
    return treadle("traces", *words, home=home)


def test_what_is_exported_is_taken_in_elsewhere_as_it_was(home: Path) -> None:
    spans = (span("a", start_us=1_000), span("b", "a", start_us=1_500))
    seed(home, *spans, span("c", trace_id="other"))
    file = home.parent / "spans.jsonl"
    done = traces(home, "export", "trace:trace", "-o", str(file))
    assert (done.status, done.err) == (0, f"Wrote 2 spans to {file}.\n")
    elsewhere = home.parent / "elsewhere"
    taken = treadle("traces", "import", str(file), home=elsewhere)
    assert (taken.status, taken.out) == (0, "2 spans imported.\n")
    assert stored(elsewhere) == stored(home) == spans
    again = treadle("traces", "export", home=elsewhere)
    assert again.out.encode() == file.read_bytes()


def test_an_export_for_other_tools_is_otlp_json(home: Path) -> None:
    seed(home, span("a"), span("b", "a"))
    done = traces(home, "export", "--format", "otlp-json")
    requests = [json.loads(line) for line in done.out.splitlines()]
    sent = [r["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for r in requests]
    assert [each["name"] for each in sent] == ["work a", "work b"]
    assert sent[1]["parentSpanId"] == sent[0]["spanId"]
    assert {len(each["traceId"]) for each in sent} == {32}
    file = home.parent / "otlp.json"
    file.write_text(done.out)
    elsewhere = home.parent / "elsewhere"
    taken = treadle("traces", "import", str(file), home=elsewhere)
    assert taken.out == "2 spans imported.\n"


def test_secrets_in_what_is_taken_in_are_taken_out(home: Path) -> None:
    file = home.parent / "foreign.jsonl"
    seed(home.parent / "foreign", span("a"))
    out = treadle("traces", "export", home=home.parent / "foreign").out
    file.write_text(out.replace("work a", f"work {KEY}"))
    done = traces(home, "import", str(file))
    assert done.status == 0
    assert "1 api-key" in done.err
    assert stored(home)[0].name == "work [redacted:api-key]"


def test_old_traces_are_pruned_by_options_or_settings(home: Path) -> None:
    seed(home, span("a"), span("b", trace_id="other"))
    tried = traces(home, "prune", "--older-than", "30d", "--dry-run")
    assert tried.out.startswith("2 traces with 2 spans would be deleted")
    assert len(stored(home)) == 1
    refused = traces(home, "prune")
    assert (refused.status, "--older-than" in refused.err) == (2, True)
    assert traces(home, "prune", "--older-than", "a while").status == 2
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "config.toml").write_text('[traces]\nkeep = "4w"\n')
    done = traces(home, "prune", "--json")
    assert json.loads(done.out) | {"bytes": 0} == {
        "spans": 2, "traces": 2, "bytes": 0, "left": 0, "dry_run": False
    }  # fmt: skip


def test_doctor_reports_traces_that_retention_should_have_deleted(home: Path) -> None:
    repo = home.parent / "repo"
    repo.mkdir()

    def doctor(**env: str) -> dict[str, str]:
        ran = treadle("doctor", "--json", home=home, repo=repo, **env)
        findings = json.loads(ran.out)["findings"]
        found: dict[str, str] = next(each for each in findings if each["name"] == "retention")
        return found

    assert doctor()["detail"] == "no limit; all traces are kept"
    assert doctor(TREADLE_TRACES__KEEP="4w")["verdict"] == "ok"
    seed(home, span("a"), span("b", trace_id="other"))
    late = doctor(TREADLE_TRACES__KEEP="4w", TREADLE_TRACES__MAX_SIZE="2GB")
    assert late["verdict"] == "warning"
    assert late["detail"] == ("keep 4w, max_size 2GB; 2 traces with 2 spans are too old")
    traces(home, "prune", "--older-than", "4w")
    assert doctor(TREADLE_TRACES__KEEP="4w")["detail"] == "keep 4w; no trace is too old"


def test_deleting_needs_a_yes(home: Path) -> None:
    seed(home, span("a"), span("b", trace_id="other"))
    refused = traces(home, "delete", "trace", "trace")
    assert (refused.status, "--yes" in refused.err) == (2, True)
    done = traces(home, "delete", "trace", "trace", "--yes")
    assert done.out.startswith("Deleted 1 spans of 1 traces")
    assert traces(home, "delete", "trace", "trace", "--yes").status == 1
    assert len(stored(home, "other")) == 1


def test_row_that_arrives_during_the_question_is_not_deleted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(home, span("a", trace_id="counted"))

    def confirm(question: str) -> bool:
        assert "1 run with 1 spans" in question
        seed(home, span("b", trace_id="later"))
        return True

    monkeypatch.setattr(trace_selections, "_is_confirmed", confirm)
    monkeypatch.setenv("TREADLE_HOME", str(home))
    options = argparse.Namespace(what="run", ids=[], query="name:*", yes=False, json=True)
    assert trace_selections.delete_traces(options) == 0
    left = json.loads(traces(home, "list", "--json").out)["data"]
    assert [run["run_id"] for run in left] == ["later"]


def test_a_rule_is_tried_on_what_is_stored(home: Path) -> None:
    seed(home, span("EMP-1234"), span("b"))
    tried = traces(home, "redact-preview", "--pattern", "EMP-[0-9]{4}")
    assert tried.out.startswith("pattern: 1 matches in 1 of 2 spans\n")
    assert "EM… (8 characters)" in tried.out
    assert traces(home, "redact-preview").status == 2
    assert traces(home, "redact-preview", "--pattern", "(").status == 2
    assert len(stored(home)) == 2


def test_faults_are_reported_although_the_status_is_ok(home: Path) -> None:
    said = '{"ok": false, "error": "No such order: 17"}'
    call = replace(span("t", kind=SpanKind.TOOL), input="{}", output=said, status=SpanStatus.OK)
    seed(home, call, replace(span("fine", start_us=2_000), output="No errors found."))

    told = traces(home, "faults")
    as_json = json.loads(traces(home, "faults", "--json").out)

    assert told.status == 0
    assert "No such order: 17" in told.out
    assert "1 findings in 2 spans" in told.err
    assert [each["evidence"]["span"]["span_id"] for each in as_json["findings"]] == ["t"]


def test_error_that_passes_through_spans_is_listed_once(home: Path) -> None:
    failed = replace(span("t", kind=SpanKind.TOOL), status=SpanStatus.ERROR, error="no such city")
    outer = replace(failed, kind=SpanKind.AGENT)
    seed(
        home,
        replace(outer, span_id="run"),
        replace(outer, span_id="agent", parent_id="run", start_us=2_000),
        replace(failed, span_id="tool", parent_id="agent", start_us=3_000),
    )

    told = traces(home, "faults").out

    assert told.count("The span ended with an error") == 1
    assert "Also the error of 2 other spans of this trace." in told
    assert " tool error" in told


def test_worst_faults_of_all_spans_are_reported_up_to_the_limit(home: Path) -> None:
    call = replace(span("t", kind=SpanKind.TOOL), input="{}", status=SpanStatus.OK)
    results = ["[]"] * 3 + ["Error: disk is full"] * 2
    seed(
        home,
        *(
            replace(call, span_id=f"s{number}", start_us=number, output=result)
            for number, result in enumerate(results)
        ),
    )

    told = traces(home, "faults", "--limit", "2")
    as_json = json.loads(traces(home, "faults", "--limit", "3", "kind:tool", "--json").out)

    assert told.out.count("disk is full") == 4
    assert "5 findings in 5 spans; the worst 2 are shown" in told.err
    assert (as_json["spans"], as_json["unexamined"], as_json["total"]) == (5, 0, 5)
    assert [each["severity"] for each in as_json["findings"]] == ["high", "high", "low"]


def test_a_rule_of_the_settings_finds_faults_of_its_own(home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(
        "[[traces.detectors.rules]]\nname = \"slow\"\npattern = 'took \\d{4,} ms'\n"
    )
    seed(home, replace(span("a"), output="It took 23456 ms."))

    assert "took 23456 ms" in traces(home, "faults").out


def test_however_many_spans_are_new_all_are_examined_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(traces_commands, "_AT_ONCE", 2)
    monkeypatch.setenv("TREADLE_HOME", str(home))
    call = replace(span("t", kind=SpanKind.TOOL), input="{}", output="[]")
    seed(home, *(replace(call, span_id=f"s{number}") for number in range(4)))

    options = argparse.Namespace(action="faults", query=[], limit=9, json=False, repo=None)
    assert traces_commands.run(options) == 0

    told = capsys.readouterr().err
    assert "4 spans examined for the first time" in told
    assert "4 findings in 4 spans" in told


def test_records_are_labelled_and_deleted_by_ids_and_by_queries(home: Path) -> None:
    seed(home, *(span("a", trace_id=f"t{number}") for number in range(3)))
    ids = [run["run_id"] for run in json.loads(traces(home, "list", "--json").out)["data"]]
    done = traces(home, "label", "run", ids[0], "--add", "keep me", "--add", "good")
    assert done.out == "The labels of 1 spans changed.\n"
    found = json.loads(traces(home, "list", 'label:"keep me"', "--json").out)["data"]
    assert [run["run_id"] for run in found] == ids[:1]

    traces(home, "label", "trace", "--query", "label:good", "--remove", "good")
    assert json.loads(traces(home, "list", "label:good", "--json").out)["data"] == []

    assert traces(home, "label", "run", ids[0]).status == 2
    assert traces(home, "label", "run", ids[0], "--add", "budget:x").status == 2
    assert traces(home, "delete", "run", ids[0], "--query", "x", "--yes").status == 2
    assert traces(home, "label", "run", ids[0], "--add", "  ").status == 2
    assert traces(home, "delete", "run", "--query", " ", "--yes").status == 2
    gone = json.loads(
        traces(home, "delete", "run", "--query", "not label:*keep*", "--yes", "--json").out
    )
    assert gone["traces"] == len(ids) - 1
    left = json.loads(traces(home, "list", "--json").out)["data"]
    assert [run["run_id"] for run in left] == ids[:1]
    none = traces(home, "delete", "run", "--query", "status:denied")
    assert (none.status, none.out.startswith("Deleted 0 spans of 0 traces")) == (0, True)
