"""The lines that the model received."""

import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, EchoArguments, EchoResult, results, stage
from treadle.code import CodeIndex
from treadle.code.snippets import write_snippet
from treadle.config.model import ToolSettings
from treadle.events.changes import EditApplied
from treadle.events.types import RetrievalFinished, SourceRange
from treadle.ids import new_id
from treadle.session import Conversation
from treadle.session.sources import merge_ranges
from treadle.toolbox.code.read_file import ReadFile
from treadle.toolbox.code.request_code_context import RequestCodeContext
from treadle.toolbox.code.workspace import Workspace
from treadle.tools.contract import Arguments, Result, Tool, ToolContext


class Search(Echo):
    """Retrieves two ranges."""

    name: ClassVar[str] = "search"

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        await context.publish(
            RetrievalFinished(
                request_id=context.request_id,
                parent_id=context.parent_id,
                key=context.key,
                query="q",
                top_k=5,
                sources=(SourceRange("a.py", 1, 9, "f"), SourceRange("b.py", 3, 4)),
                omitted=0,
                tokens=1,
                budget=2,
                index_files=1,
                index_items=1,
                started_us=0,
                duration=0.0,
            )
        )
        return EchoResult(text="found")


class Lines(Result):
    """Lines of a file."""

    type: str = "lines"
    file: str = "c.py"
    lines: str = "10-20"


class Read(Tool[Arguments, Lines]):
    """Reads lines."""

    name: ClassVar[str] = "read"
    description: ClassVar[str] = "Read."
    arguments = Arguments
    result = Lines

    async def run(self, arguments: Arguments, context: ToolContext) -> Lines:
        await asyncio.sleep(0)
        return Lines()


async def test_retrievals_and_lines_read_are_the_sources_of_the_answer() -> None:
    async with stage(Search(), Read()) as at:
        model = FakeModel(Say(calls=calls("search", "search")), Say(calls=calls("read")), Say("."))
        outcome = await at.session(model).run("Go")
        assert outcome.sources == (
            SourceRange("a.py", 1, 9, "f"),
            SourceRange("b.py", 3, 4),
            SourceRange("c.py", 10, 20),
        )


async def test_the_real_tools_report_their_lines(tmp_path: Path) -> None:
    (tmp_path / "loom.py").write_text("def weave():\n    return 'cloth'\n\n\nX = 1\n")
    index = await asyncio.to_thread(CodeIndex.open, tmp_path, cache_dir=tmp_path / "cache")
    await asyncio.to_thread(index.refresh)
    workspace = Workspace(tmp_path, index)
    tools = RequestCodeContext(workspace), ReadFile(workspace)
    async with stage(*tools, root=tmp_path) as at:
        asked = "request_code_context", '{"token_budget": 500, "hint": "weave"}'
        read = "read_file", '{"path": "loom.py", "start_line": 4, "end_line": 5}'
        outcome = await at.session(FakeModel(Say(calls=(asked, read)), Say("."))).run("Go")
        assert set(outcome.sources) == {
            SourceRange("loom.py", 1, 2, "loom.weave"),
            SourceRange("loom.py", 4, 5),
        }
    index.close()


@pytest.mark.parametrize(("limit", "window"), [(400, 128_000), (16_000, 3_000), (16_000, 6_000)])
async def test_the_sources_are_what_the_model_received(
    tmp_path: Path, limit: int, window: int
) -> None:
    for number in range(12):
        body = "".join(f"    total += {place}\n" for place in range(60))
        text = f"def weave_{number}():\n    total = 0\n{body}    return total\n"
        (tmp_path / f"loom{number}.py").write_text(text)
    index = await asyncio.to_thread(CodeIndex.open, tmp_path, cache_dir=tmp_path / "cache")
    workspace = Workspace(tmp_path, index)
    tools = RequestCodeContext(workspace), ReadFile(workspace)
    async with stage(*tools, root=tmp_path) as at:
        asked = "request_code_context", '{"token_budget": 90000, "hint": "weave total"}'
        read = "read_file", '{"path": "loom1.py", "max_tokens": 90000}'
        model = FakeModel(Say(calls=(asked, read)), Say("."), context_window=window)
        outcome = await at.session(model, settings=ToolSettings(result_tokens=limit)).run("Go")
        context, lines = (json.loads(content) for content in results(model.requests[-1].messages))
        received = {source_of(each, each["canonical_path"]) for each in context["context"]}
        (retrieval,) = at.seen(RetrievalFinished)
        assert set(retrieval.sources) == received
        assert retrieval.budget <= limit
        assert set(outcome.sources) <= {*received, source_of(lines)}
    index.close()


def source_of(shown: dict[str, Any], path: str = "") -> SourceRange:
    first, last = shown["lines"].split("-")
    return SourceRange(shown["file"], int(first), int(last), path)


class Change(Tool[Arguments, Lines]):
    """Changes the file that the other tools read."""

    name: ClassVar[str] = "change"
    description: ClassVar[str] = "Change."
    arguments = Arguments
    result = Lines

    async def run(self, arguments: Arguments, context: ToolContext) -> Lines:
        await context.publish(
            EditApplied(
                request_id=context.request_id, proposal_id=context.request_id, files=("c.py",)
            )
        )
        return Lines(file="d.py")


async def test_lines_read_before_a_change_are_stale() -> None:
    async with stage(Search(), Read(), Change()) as at:
        model = FakeModel(
            Say(calls=calls("search", "read")), Say(calls=calls("change")), Say("Done.")
        )
        outcome = await at.session(model).run("Go")
        assert {(source.file, source.stale) for source in outcome.sources} == {
            ("a.py", False), ("b.py", False), ("c.py", True), ("d.py", False),
        }  # fmt: skip
        again = FakeModel(
            Say(calls=calls("read")), Say(calls=calls("change")), Say(calls=calls("read")), Say(".")
        )
        outcome = await at.session(again).run("Go")
        assert SourceRange("c.py", 10, 20) in outcome.sources
        assert all(not source.stale for source in outcome.sources)


def test_a_range_inside_another_is_merged() -> None:
    ranges = [
        SourceRange("a", 5, 6),
        SourceRange("b", 5, 6),
        SourceRange("a", 1, 9, "f"),
        SourceRange("a", 1, 9),
        SourceRange("a", 8, 12),
    ]
    assert merge_ranges(ranges) == (
        SourceRange("b", 5, 6),
        SourceRange("a", 1, 9, "f"),
        SourceRange("a", 8, 12),
    )


async def test_a_pasted_snippet_is_a_source_if_the_file_has_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\nthree\n")
    exact = write_snippet(str(file), 4, 7, "two")
    moved = write_snippet(str(file), 0, 5, "three")
    wrong = write_snippet(str(file), 0, 3, "six")
    async with stage() as at:
        about = Conversation(new_id(), str(tmp_path), "fake-model", 0, 0)
        session = at.session(FakeModel(Say("Fine.")), conversation=about)
        outcome = await session.run(f"Why?\n{exact}\n{moved}\n{wrong}")
    assert outcome.sources == (SourceRange("a.py", 2, 2), SourceRange("a.py", 3, 3))
