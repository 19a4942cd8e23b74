"""The flight recorder in the terminal."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.replies import Answer, Call
from tests.tui.terminal import Terminal, running
from treadle.app.stores import Stores
from treadle.display.trace_tree import Row, Symbol, view_trace
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.traces import TraceStore
from treadle.tui.conversation.items import CallItem, CodeItem, OutcomeItem, PromptItem, ProseItem
from treadle.tui.screens.trace import TraceScreen
from treadle.tui.trace.row_view import draw_row
from treadle.tui.trace.span_detail import span_detail
from treadle.tui.trace.trace_tree_state import TraceTreeState
from treadle.tui.transcript.transcript import Transcript
from treadle.visible import in_line

READ = Answer("", (Call("read_file", {"path": "calc.py"}),))


def span(number: int, parent: int | None = None, **values: object) -> Span:
    fields = {
        "trace_id": "t" * 32, "span_id": f"{number:016x}", "kind": SpanKind.TOOL,
        "operation": "execute_tool", "name": f"tool {number}", "status": SpanStatus.OK,
        "parent_id": None if parent is None else f"{parent:016x}",
        "start_us": number * 1_000, "end_us": number * 1_000 + 500, **values,
    }  # fmt: skip
    return Span(**fields)  # type: ignore[arg-type]


async def opened(terminal: Terminal) -> TraceScreen:
    """The open trace, after its rows were read."""
    await terminal.until(lambda: isinstance(terminal.app.screen, TraceScreen))
    screen = terminal.app.screen
    assert isinstance(screen, TraceScreen)
    await terminal.until(lambda: screen.highlighted is not None)
    return screen


async def test_the_trace_of_the_last_answer_opens_as_a_tree(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")], size=(120, 40)) as terminal:
        await terminal.ask("What does add do?")
        await terminal.until(lambda: "1 source" in terminal.text())
        await terminal.pilot.press("ctrl+t")
        await opened(terminal)
        await terminal.until(lambda: "read_file" in terminal.text())
        text = terminal.text()
        assert "2 model calls, 1 tool call" in text
        assert "━━━━" in text
        assert "It adds." in text  # the output of the run
        await terminal.write("read_file")
        rows = terminal.app.screen.query_one("#list")
        await terminal.until(lambda: rows.virtual_size.height == 3)  # with the rows above it
        await terminal.pilot.press("escape")
        assert not isinstance(terminal.app.screen, TraceScreen)


async def test_a_call_leads_to_its_span(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")], size=(120, 40)) as terminal:
        await terminal.ask("What does add do?")
        await terminal.pilot.press("ctrl+up")
        transcript = terminal.app.screen.query_one(Transcript)
        while not isinstance(transcript.selected_item, CallItem):
            await terminal.pilot.press("down")
        await terminal.pilot.press("t")
        screen = await opened(terminal)
        await terminal.until(lambda: "Arguments" in terminal.text())
        assert screen.highlighted not in {0, None}
        await terminal.until(lambda: '"lines": "1-3"' in terminal.text())


async def test_the_analyst_answers_in_the_conversation_with_spans(tmp_path: Path) -> None:
    replies = [READ, Answer("It adds.")]
    async with running(tmp_path, replies, size=(100, 40)) as terminal:
        await terminal.ask("What does add do?")
        items = terminal.app.state.items
        (call,) = [item for item in items if isinstance(item, CallItem)]
        assert call.span is not None
        link = f"/traces/{call.span.trace_id}?span={call.span.span_id}"
        terminal.provider.add(Answer(f"The call [read_file]({link}) is fine."))
        await terminal.pilot.press("ctrl+t")
        await opened(terminal)
        await terminal.pilot.press("f2")
        await terminal.until(lambda: isinstance(items[-1], OutcomeItem) and len(items) > 6)
        prompts = [item.text for item in items if isinstance(item, PromptItem)]
        assert prompts[-1].startswith("What went wrong in this run")
        outcome = items[-1]
        assert isinstance(outcome, OutcomeItem)
        await terminal.until(lambda: outcome.spans == (call.span,))
        request = str(terminal.provider.requests[-1].messages)
        assert call.span.trace_id in request
        await terminal.pilot.press("ctrl+up", "end", "up", "t")
        await opened(terminal)
        await terminal.until(lambda: "Arguments" in terminal.text())


async def test_an_answer_that_does_not_stream_is_shown_once(tmp_path: Path) -> None:
    text = "The run is **fine**.\n\n```\ncode\n```\n"
    final = Answer("", (Call("final", {"answer": text}),))
    async with running(tmp_path, [Answer("Yes."), final], size=(100, 40)) as terminal:
        await terminal.ask("Hello?")
        await terminal.app.run_named("analyse", "Was it fine?")
        await terminal.until(lambda: "The run is fine." in terminal.text())
        items = terminal.app.state.items
        kinds = [type(item) for item in items[-4:]]
        assert kinds == [CallItem, ProseItem, CodeItem, OutcomeItem]
        assert "> Was it fine?" in terminal.text()
        assert terminal.text().count("Yes.") == 1


@pytest.mark.parametrize("streams", [True, False], ids=["streamed answer", "result of a call"])
async def test_resumed_conversation_has_the_questions_to_the_analyst(
    tmp_path: Path, streams: bool
) -> None:
    text = "The run is fine."
    answer = Answer(text) if streams else Answer("", (Call("final", {"answer": text}),))
    replies = [Answer("Yes."), answer, Answer("Again yes.")]
    async with running(tmp_path, replies, size=(100, 40)) as terminal:
        await terminal.ask("Hello?")
        await terminal.app.run_named("analyse", "Was it fine?")
        await terminal.until(lambda: text in terminal.text() and not terminal.app.state.running)
        await terminal.ask("Hello again?")
        assert text not in str(terminal.provider.requests[-1].messages)
    async with running(tmp_path, size=(100, 40)) as terminal:
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation("last"))
        await terminal.until(lambda: "Again yes." in terminal.text())
        shown = terminal.text()
        order = ["> Hello?", "Yes.", "> Was it fine?", text, "> Hello again?", "Again yes."]
        positions = [shown.index(each) for each in order]
        assert positions == sorted(positions)
        prose = [each.text for each in terminal.app.state.items if isinstance(each, ProseItem)]
        assert prose == ["Yes.", text, "Again yes."]
        conversation_id = terminal.app.state.conversation_id
        assert conversation_id is not None
        await workbench.branch_conversation(conversation_id, 0)  # before the question
        terminal.app.show_session(await workbench.conversation("last"))
        await terminal.until(lambda: "Was it fine?" not in terminal.text())


async def test_without_a_server_the_browser_key_states_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.tui.local_workbench.find_server", lambda _: None)
    async with running(tmp_path, [Answer("Yes.")]) as terminal:
        await terminal.ask("Hello?")
        await terminal.pilot.press("ctrl+t")
        await opened(terminal)
        await terminal.pilot.press("f4")
        await terminal.until(lambda: "Start `treadle serve`" in terminal.text())


async def test_a_trace_of_5000_spans_opens_folds_and_finds(tmp_path: Path) -> None:
    spans = [span(0, kind=SpanKind.RUN, name="run", user="alice", release="1.5")]
    spans += [span(number, 0 if number % 5 else None) for number in range(1, 5_000)]
    async with running(tmp_path, [Answer("Yes.")]) as terminal:
        await terminal.ask("Hello?")
        store = TraceStore.open(Stores.of_user().traces)
        await asyncio.wrap_future(store.write(spans))
        store.close()
        terminal.app.show_trace("t" * 32)
        screen = await opened(terminal)
        rows = screen.query_one("#list")
        assert rows.virtual_size.height == 5_000
        assert screen.summary().startswith(
            "user alice  release 1.5  0 model calls, 4999 tool calls"
        )
        await terminal.pilot.press("alt+left")
        await terminal.until(lambda: rows.virtual_size.height == 1_000)
        await terminal.write("tool 4321")
        await terminal.until(lambda: rows.virtual_size.height == 2)


def test_rows_of_a_folded_span_are_hidden_and_revealed() -> None:
    trace = Trace("t" * 32, (span(0), span(1, 0), span(2, 1), span(3, 0), span(4)))
    tree = TraceTreeState(view_trace(trace))
    assert tree.visible() == [0, 1, 2, 3, 4]
    assert tree.fold(1)
    assert tree.fold(0)
    assert not tree.fold(3)
    assert tree.visible() == [0, 4]
    assert tree.visible("tool 2") == [0, 1, 2]
    tree.reveal(2)
    assert tree.visible() == [0, 1, 2, 3, 4]
    assert (tree.parent(2), tree.parent(0)) == (1, None)
    assert tree.position(f"{3:016x}") == 3


def test_large_content_is_shortened_until_it_is_wanted() -> None:
    large = span(1, input='{"path": "a"}', output="x" * 50_000)
    short = span_detail(large, None, whole=False).plain
    assert "… 47,000 more characters" in short
    assert "x" * 50_000 in span_detail(large, None, whole=True).plain


def test_figures_stay_in_their_columns_where_a_text_is_cut() -> None:
    for size in range(1, 40):
        name = "t" * size
        row = Row(0, Symbol.OK, name, "a detail", span_id="1", offset_us=0, duration_us=1)
        drawn = draw_row(row, 60, total_us=2, mark=" ").plain
        assert drawn.endswith("1 µs  ━━━━━━······    +0.00 s")
        assert len(drawn) == 60


@given(text=st.text(), kind=st.sampled_from(SpanKind))
def test_any_text_of_a_span_is_literal(text: str, kind: SpanKind) -> None:
    hostile = span(
        1, kind=kind, name=text, input=text, output=text, error=text, model=text, provider=text,
        attributes={"gen_ai.tool.name": text, text: text},
    )  # fmt: skip
    view = view_trace(Trace("t" * 32, (hostile,)))
    detail = span_detail(hostile, view.rows[0], whole=True).plain
    assert all(in_line(line) == line for line in detail.split("\n"))
    row = Row(0, Symbol.OK, text, text, span_id="1", offset_us=0, duration_us=1)
    for columns in (10, 60, 120):
        drawn = draw_row(row, columns, total_us=2, mark="▾")
        assert drawn.cell_length <= columns
        assert in_line(drawn.plain) == drawn.plain


async def test_the_trace_is_read_again_while_its_details_are_read(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        await terminal.pilot.press("ctrl+t")
        screen = await opened(terminal)
        screen.action_trace_reload()
        assert not await screen.preview(0, 40)
        await terminal.until(lambda: "It adds." in terminal.text())
