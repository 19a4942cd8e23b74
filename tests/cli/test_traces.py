import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.command import Ran, treadle
from tests.spans.runs import span
from treadle.app.repository_scope import repository_label
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore

HOUR = 3_600_000_000
START = 1_900_000_800_000_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which three runs of two threads are recorded."""
    folder = tmp_path_factory.mktemp("home")
    store = TraceStore.open(folder / "data" / "traces.db")
    store.write([*run("one", 0, "a"), *run("two", 1, "a", failed=True), *run("three", 2, "b")])
    store.close()
    return folder


def run(trace: str, hour: int, thread: str, *, failed: bool = False) -> list[Span]:
    """A run with one call of a model, which may fail in red."""
    start = START + hour * HOUR
    root = replace(
        span("root", trace_id=trace, start_us=start, end_us=start + 2_000_000, kind=SpanKind.RUN),
        thread_id=thread,
        input=f"Question {trace}?",
        labels=("search",) if failed else (),
    )
    call = replace(
        span("call", "root", trace_id=trace, start_us=start + 10, end_us=start + 1_000_010),
        kind=SpanKind.MODEL,
        operation="chat",
        model="gpt-5" if failed else "small",
        status=SpanStatus.ERROR if failed else SpanStatus.OK,
        error="\x1b[31mred" if failed else None,
        tokens=Usage(input=1_000 * (hour + 1), output=10),
        cost=0.25 * (hour + 1),
        output=f"50% of it was not found in {trace}",
    )
    return [root, call]


def test_groups_have_the_sums_of_a_user_and_of_a_tenant(tmp_path: Path) -> None:
    store = TraceStore.open(tmp_path / "data" / "traces.db")
    for trace, user in (("one", "alice"), ("two", "alice"), ("three", "bob")):
        root, call = run(trace, 0, trace)
        store.write([call]).result()
        store.write([replace(root, user=user, metadata={"tenant": f"of {user}"})]).result()
    store.close()

    by_user = lines(treadle("traces", "groups", "user", home=tmp_path))
    by_tenant = lines(treadle("traces", "groups", "metadata.tenant", "user:bob", home=tmp_path))
    listed = lines(treadle("traces", "list", "--spans", "metadata.tenant:of*", home=tmp_path))
    wrong = treadle("traces", "groups", "tenant", home=tmp_path)

    assert [" ".join(row.split()) for row in by_user[1:]] == [
        "2 0 4 2 0 2,000 20 $0.5000 $0.2500 2.00 s 2.00 s alice",
        "1 0 2 1 0 1,000 10 $0.2500 $0.2500 2.00 s 2.00 s bob",
    ]
    assert [row.split()[-2:] for row in by_tenant[1:]] == [["of", "bob"]]
    assert len(listed) == 7
    assert wrong.status == 2
    assert "metadata.KEY" in wrong.err


def test_groups_are_sorted_by_cost_or_tokens(home: Path) -> None:
    def names(*words: str) -> list[str]:
        return [row.split()[-1] for row in lines(treadle("traces", "groups", *words, home=home))]

    exported = lines(
        treadle("traces", "groups", "run", "--sort", "cost", "--export", "csv", home=home)
    )
    hours = lines(treadle("traces", "groups", "time", "--sort", "cost", home=home))

    assert names("run") == ["GROUP", "one", "three", "two"]
    assert names("run", "--sort", "cost") == ["GROUP", "three", "two", "one"]
    assert names("run", "kind:model", "--sort", "tokens") == ["GROUP", "three", "two", "one"]
    assert names("operation", "--sort", "cost")[:2] == ["GROUP", "chat"]
    assert [row.split(",")[0] for row in exported] == ["value", "three", "two", "one"]
    assert [row.split()[7] for row in hours[1:]] == ["$0.7500", "$0.5000", "$0.2500"]


def test_groups_are_by_hour_or_by_day(home: Path) -> None:
    def starts(*words: str) -> list[str]:
        return [row[-20:] for row in lines(treadle("traces", "groups", *words, home=home))[1:]]

    assert starts("hour") == starts("time")
    assert len(starts("hour")) == 3
    assert starts("day") == starts("time", "--bucket", "86400")
    assert len(starts("day")) == 1


def test_groups_compare_the_runs_of_releases(tmp_path: Path) -> None:
    store = TraceStore.open(tmp_path / "data" / "traces.db")
    for trace, release in (("one", "1.4"), ("two", "1.5"), ("three", "1.5"), ("four", None)):
        root, call = run(trace, 24 if trace == "three" else 0, trace, failed=trace == "two")
        status = SpanStatus.ERROR if trace == "two" else SpanStatus.OK
        store.write([replace(root, release=release, status=status), call]).result()
    store.close()

    def shown(*words: str) -> list[list[str]]:
        rows = lines(treadle("traces", "groups", *words, home=tmp_path))[1:]
        return [[row[:4].strip(), row[4:14].strip(), row.split()[-1]] for row in rows]

    releases = shown("release", "--sort", "failed_runs")
    assert [row[2] for row in releases] == ["1.5", "(none)", "1.4"]
    assert releases[0][:2] == ["2", "1 (50 %)"]
    assert [row[2] for row in shown("release", "--sort", "cost", "--reverse")][-1] == "1.5"
    nested = lines(treadle("traces", "groups", "release", "day", home=tmp_path))
    assert [row.split()[0] for row in nested[1:]] == ["2", "1", "1", "1", "1", "1", "1"]
    nobody = treadle("traces", "groups", "user", home=tmp_path)
    assert "(none)" in nobody.out
    assert nobody.err.strip() == "No matching span states a user."


def test_parts_of_a_group_are_indented_and_measure_the_same(home: Path) -> None:
    header, *rows = lines(treadle("traces", "groups", "model", "day", "kind:model", home=home))
    start, p50 = header.index("GROUP"), header.index("CALL P50")

    assert [row[start : start + 7] for row in rows] == ["small", "  2030-", "gpt-5", "  2030-"]
    assert {row[p50:].split("  ")[0] for row in rows} == {"1.00 s"}
    (one_level, *_) = lines(treadle("traces", "groups", "user", home=home))
    assert "RUN P50" in one_level


def test_spans_without_a_value_are_the_last_group(home: Path) -> None:
    def names(*words: str) -> list[str]:
        found = lines(treadle("traces", "groups", "model", *words, home=home))[1:]
        return [row.split()[-1] for row in found]

    assert names() == ["small", "gpt-5", "(none)"]
    assert names("--sort", "spans")[0] == "(none)"


def test_cost_of_a_sum_without_some_prices_is_marked(tmp_path: Path) -> None:
    store = TraceStore.open(tmp_path / "data" / "traces.db")
    root, call = run("one", 0, "a")
    store.write([root, call, replace(call, span_id="unpriced", cost=None), *run("two", 1, "b")])
    store.close()

    groups = lines(treadle("traces", "groups", "thread", home=tmp_path))
    runs = lines(treadle("traces", "list", home=tmp_path))
    threads = lines(treadle("traces", "list", "--threads", home=tmp_path))
    models = lines(treadle("traces", "summary", home=tmp_path))
    shown = lines(treadle("traces", "show", "one", home=tmp_path))

    costs = [(row.split()[7], row.split()[-1]) for row in groups[1:]]
    assert costs == [("$0.2500+", "a"), ("$0.5000", "b")]
    for listed in (runs, threads):
        assert [row.split()[-3] for row in listed[1:]] == ["$0.5000", "$0.2500+"]
    assert "$0.7500+" in next(row for row in models if row.startswith("small")).split()
    assert shown[-1].endswith("$0.2500+ (without 1 call of unknown price)")


def test_lists_show_the_first_error_of_a_run(home: Path) -> None:
    for option in ((), ("--threads",)):
        listed = lines(treadle("traces", "list", *option, home=home, COLUMNS="200"))
        assert [row.split("✗ ")[1] for row in listed if "✗" in row] == ["\\x1b[31mred (work call)"]


def lines(ran: Ran) -> list[str]:
    assert ran.status == 0, ran.err
    return ran.out.splitlines()


def test_whole_lists_are_exported_with_the_filters_of_the_list(home: Path, tmp_path: Path) -> None:
    runs = lines(treadle("traces", "list", "--export", "jsonl", "--sort", "oldest", home=home))
    one = lines(treadle("traces", "list", "--spans", "--export", "csv", "--limit", "1", home=home))
    file = tmp_path / "groups.csv"
    to_file = ("--export", "csv", "-o", str(file))
    written = treadle("traces", "groups", "model", "status:error", *to_file, home=home)

    assert [json.loads(line)["run_id"] for line in runs] == ["one", "two", "three"]
    assert one[0].startswith("trace_id,span_id,parent_id,")
    assert len(one) == 2
    assert (written.status, written.out) == (0, "")
    assert [line.split(",")[0] for line in file.read_text().splitlines()] == ["value", "gpt-5"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_trace_or_thread_is_written_as_an_html_page(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "last.html"
    last = treadle("traces", "export", "--html", "LAST", "-o", str(file), home=home)
    prefix = "\n".join(lines(treadle("traces", "export", "--html", "thr", home=home)))
    thread = "\n".join(lines(treadle("traces", "export", "--html", "a", home=home)))
    mixed = treadle("traces", "export", "--html", "a", "status:error", home=home)
    unknown = treadle("traces", "export", "--html", "nothing", home=home)

    assert last.status == 0, last.err
    assert "<h1>trace three</h1>" in file.read_text()
    assert "<h1>trace three</h1>" in prefix
    assert "<h1>thread a</h1>" in thread
    assert thread.index("Question one?") < thread.index("Question two?")
    assert (mixed.status, unknown.status, unknown.out) == (2, 1, "")


def test_two_runs_are_compared_step_by_step(home: Path) -> None:
    shown = treadle("traces", "compare", "one", "two", home=home)
    as_json = json.loads(treadle("traces", "compare", "one", "two", "--json", home=home).out)
    with_thread = lines(treadle("traces", "compare", "LAST", "a", home=home))

    text = "\n".join(lines(shown))
    assert "   ok, 2.00 s, 1 model call, 0 tool calls, 1,000 tokens in, 10 out, $0.2500" in text
    assert "     model: small → gpt-5" in text
    assert "     cost: $0.2500 → $0.5000" in text
    assert "       -50% of it was not found in one" in text
    assert "\x1b" not in text
    assert [step["name"] for step in as_json["steps"]] == ["work root", "chat"]
    assert "status" in as_json["steps"][1]["changes"]
    assert "   question: Question one?" in text
    assert "   model: small" in text
    assert "@@" not in text
    assert [line.rsplit("  ", 1)[0] for line in with_thread if line[:3] in {"A  ", "B  "}] == [
        "A  trace three",
        "B  thread a",
    ]


def test_runs_are_listed_newest_first_and_filtered_by_a_query(home: Path) -> None:
    everything = lines(treadle("traces", "list", home=home))
    query = ("has:error", "model:gpt*")
    failed = lines(treadle("traces", "list", *query, home=home, COLUMNS="200"))
    other = lines(treadle("traces", "list", "not model:gpt*", home=home))

    assert [line.split()[0] for line in everything] == ["TRACE", "three", "two", "one"]
    assert [line.split()[0] for line in failed] == ["TRACE", "two"]
    assert "2      2,010   $0.5000  Question two? ✗ \\x1b[31mred (work call)" in failed[1]
    assert [line.split()[0] for line in other] == ["TRACE", "three", "one"]


def test_filter_resolves_the_abbreviated_id_of_a_trace(tmp_path: Path) -> None:
    first, second = f"{'97dd' * 7}0001", f"{'97dd' * 7}0002"
    store = TraceStore.open(tmp_path / "data" / "traces.db")
    store.write([*run(first, 0, "a"), *run("80f5" * 8, 1, "b"), *run(second, 2, "c")])
    store.close()
    shown = lines(treadle("traces", "list", home=tmp_path))[2].split()[0]

    found = lines(treadle("traces", "list", f"trace:{shown}", home=tmp_path))
    others = lines(treadle("traces", "list", f"not trace:{shown}", home=tmp_path))
    several = treadle("traces", "list", "trace:97dd", home=tmp_path)
    none = treadle("traces", "list", "trace:abc", home=tmp_path)

    assert len(shown) < len(first)
    assert [line.split()[0] for line in found[1:]] == [shown]
    assert [line.split()[0] for line in others[1:]] == [second[:18], first[:18]]
    assert (several.status, several.out) == (2, "")
    assert f"Several traces begin with '97dd': {first}, {second}." in several.err
    assert (none.status, none.out) == (0, "")
    assert "No recorded trace matches." in none.err


def test_threads_and_spans_are_listed_too(home: Path) -> None:
    threads = lines(treadle("traces", "list", "--threads", "--sort", "tokens", home=home))
    spans = lines(treadle("traces", "list", "--spans", "cost>0.2", "--reverse", home=home))

    assert [line.split()[0] for line in threads] == ["THREAD", "a", "b"]
    assert [line.split()[0] for line in spans] == ["TRACE", "one", "two", "three"]


def test_repo_limits_lists_searches_sums_and_exports_to_its_records(tmp_path: Path) -> None:
    home, own, other = (tmp_path / name for name in ("home", "own", "other"))
    own.mkdir()
    other.mkdir()
    store = TraceStore.open(home / "data" / "traces.db")
    spans = {own: run("one", 0, "a"), other: run("two", 1, "b")}
    for root, recorded in spans.items():
        label = repository_label(root)
        assert label is not None
        store.write([replace(each, labels=(label,)) for each in recorded])
    store.close()

    for words in (
        ("list", "--json"),
        ("list", "--spans", "--json"),
        ("search", "found", "--json"),
        ("export",),
    ):
        everything = treadle("traces", *words, home=home).out
        limited = treadle("traces", *words, home=home, repo=own).out
        assert '"two"' in everything, words
        assert '"one"' in limited, words
        assert '"two"' not in limited, words
    assert "2 spans: 1 model call," in treadle("traces", "summary", home=home, repo=own).out
    assert "in 2 spans" in treadle("traces", "faults", home=home, repo=own).err
    tried = treadle("traces", "redact-preview", "--pattern", "found", home=home, repo=own)
    assert "1 of 2 spans" in tried.out


@pytest.mark.parametrize("words", [("list",), ("search", "x"), ("summary",), ("export",)])
def test_repo_without_a_folder_is_refused(home: Path, words: tuple[str, ...]) -> None:
    ran = treadle("traces", *words, home=home, repo=home / "nowhere")

    assert (ran.status, ran.out) == (2, "")
    assert "nowhere does not exist" in ran.err


@pytest.mark.parametrize("words", [("show", "one"), ("delete", "trace", "one", "--yes")])
def test_commands_about_given_ids_have_no_repo_option(home: Path, words: tuple[str, ...]) -> None:
    ran = treadle("traces", *words, home=home, repo=home)

    assert (ran.status, ran.out) == (2, "")
    assert "--repo" in ran.err


def test_a_list_goes_on_after_its_cursor(home: Path) -> None:
    words = ("traces", "list", "since:40000d", "--limit", "2", "--json")
    first = json.loads(treadle(*words, home=home).out)
    cursor = first["pagination"]["next_cursor"]
    second = json.loads(treadle(*words, "--cursor", cursor, home=home).out)

    traces = [row["trace_id"] for page in (first, second) for row in page["data"]]
    assert traces == ["three", "two", "one"]
    assert second["pagination"]["next_cursor"] is None


def test_a_table_fits_the_terminal_and_steers_nothing(home: Path) -> None:
    ran = treadle("traces", "list", "--spans", home=home, COLUMNS="90")

    assert max(map(len, lines(ran))) <= 90
    assert "[31mred" in ran.out
    assert "\x1b" not in ran.out


def test_search_shows_the_position_of_a_text(home: Path) -> None:
    found = lines(treadle("traces", "search", "not found", "--limit", "1", home=home))
    percent = lines(treadle("traces", "search", "50%", "model:gpt*", home=home))
    hits = json.loads(treadle("traces", "search", "not found", "--json", home=home).out)["data"]

    assert found[1] == "  50% of it was »not found« in three"
    assert percent[1] == "  »50%« of it was not found in two"
    assert [hit["trace_id"] for hit in hits] == ["three", "two", "one"]
    assert hits[0]["field"] == "output"
    assert [hits[0]["excerpt"][start:end] for start, end in hits[0]["ranges"]] == ["not found"]


def test_a_summary_adds_up_what_fits(home: Path) -> None:
    told = "\n".join(lines(treadle("traces", "summary", "--thread", "a", home=home)))
    summary = json.loads(treadle("traces", "summary", "label:search", "--json", home=home).out)

    assert "4 spans: 2 model calls, 0 tool calls, 1 failed" in told
    assert "$0.7500" in told
    assert summary["summary"]["total_spans"] == 2
    assert summary["summary"]["by_status"] == {"ok": 1, "error": 1}
    assert summary["latency"]["max"] == 2_000.0


def test_a_summary_leaves_out_models_of_refused_calls(tmp_path: Path) -> None:
    home = tmp_path / "home"
    refused = replace(
        span("refused", kind=SpanKind.AGENT, start_us=START),
        operation="gateway",
        model="nowhere/none",
        status=SpanStatus.ERROR,
        error="There is no model 'nowhere/none'.",
    )
    store = TraceStore.open(home / "data" / "traces.db")
    store.write([*run("one", 0, "a"), refused])
    store.close()

    for query in ((), ("NOT label:x",)):  # by rollups, and by reading spans
        summary = json.loads(treadle("traces", "summary", *query, "--json", home=home).out)
        assert [row["model"] for row in summary["model_breakdown"]] == ["small"]
        assert summary["summary"]["total_spans"] == 3
        assert [row["span_id"] for row in summary["error_spans"]] == ["refused"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "stat:error"), "column 1: there is no field 'stat'"),
        (("list", "--cursor", "x"), "cursor cannot be read"),
        (("list", "--sort", "cheapest"), "newest"),
        (
            ("groups", "user", "--sort", "x"),
            "'x' is not one of group, spans, calls",
        ),
        (("groups", "week"), "hour, day, or metadata.KEY"),
        (("list", "--export", "xml"), "'xml' is not one of csv, jsonl"),
        (("list", "--limit", "1001"), "1 to 1000 rows"),
        (("search", "status:error"), "The query has no text to search for"),
        (("search",), "QUERY"),
    ],
)
def test_invalid_query_is_refused_in_one_line(
    home: Path, words: tuple[str, ...], says: str
) -> None:
    ran = treadle("traces", *words, home=home)

    assert ran.status == 2
    assert ran.out == ""
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_query_without_matches_succeeds(home: Path) -> None:
    for action in ("list", "search", "summary"):
        ran = treadle("traces", action, "nowhere", home=home)

        assert (ran.status, ran.out) == (0, "")
        assert "No recorded " in ran.err
