"""What tools say of themselves is true: schemas, hints, and how to get the rest of an answer."""

import ast
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.write_tool_reference import registry
from tests.toolbox.workbench import LARGE, Workbench, workbench
from treadle.events.types import ErrorKind, ToolCallCompleted
from treadle.paths import HOME_VARIABLE
from treadle.tools.contract import Registry, ToolEffect
from treadle.tools.schemas import JsonSchema, result_schema_of

TOOLBOX = Path(__file__).resolve().parents[2] / "src" / "treadle" / "toolbox"

LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "list_dir": ("entries", {"path": "loom"}),
    "code_item_lookup": ("items", {"name": "spin"}),
    "code_item_edges": ("edges", {"name": "Loom.total"}),
    "fetch_runs": ("data", {"until": "2026-11-01", "limit": 1_000}),
    "fetch_spans": ("data", {"runIds": ["t1"], "limit": 1_000}),
    "get_run_details": ("spans", {"runId": "t1"}),
    "fetch_groups": ("data", {"groupBy": "label", "limit": 1_000}),
    "list_labels": ("data", {"limit": 1_000}),
    "search_spans": ("data", {"query": "wool run:t1", "limit": 1_000}),
}
"""Tools that answer in pages: the field of the rows, and what to ask for."""

KNOWN_WORDS = frozenset({
    "src", "py", "ts", "tsx", "refresh", "Store", "open", "CodeIndex", "name", "Begin", "Patch",
    "End", "Update", "File", "path", "type", "enclosing", "line",
})  # fmt: skip
"""Words of examples in backticks."""


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workbench]:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    async with workbench(tmp_path / "repository") as opened:
        yield opened


@pytest.fixture(scope="module")
def tools() -> Registry:
    return registry()


def followed(more: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The arguments that `more` says to add."""
    if found := re.search(r"call again with (offset|start_line) (\d+)", more, re.IGNORECASE):
        return {found[1].lower(): int(found[2])}
    assert "cursor set to pagination.next_cursor" in more, more
    return {"cursor": answer["pagination"]["next_cursor"]}


async def test_following_the_more_hints_returns_the_whole_list(bench: Workbench) -> None:
    for name, (field, asked) in LISTS.items():
        budget = "max_tokens" if name == "list_dir" or "code" in name else "maxTokens"
        whole = await bench.ok(name, **asked, **{budget: 100_000})
        assert "more" not in whole, name
        rows: list[Any] = []
        added: dict[str, Any] = {}
        part: dict[str, Any] = {}
        for _ in range(300):
            part = await bench.ok(name, **asked, **added, **{budget: 700})
            rows += part[field]
            if "more" not in part:
                break
            added = followed(part["more"], part)
        assert len(rows) > len(part[field]), name
        assert [_identity(row) for row in rows] == [_identity(row) for row in whole[field]], name


def _identity(row: Any) -> Any:
    """A row without what is shortened to fit."""
    keys = [key for key in ("span_id", "run_id", "value") if isinstance(row, dict) and key in row]
    return row[keys[0]] if keys else row


async def test_following_the_more_hints_of_read_file_returns_every_line(bench: Workbench) -> None:
    source = (bench.app.root / "loom/big.py").read_text().splitlines()
    added: dict[str, Any] = {}
    last = 0
    for _ in range(100):
        part = await bench.ok("read_file", path="loom/big.py", max_tokens=400, **added)
        first, last_shown = map(int, part["lines"].split("-"))
        assert first == last + 1
        last = last_shown
        if "more" not in part:
            break
        added = followed(part["more"], part)
    assert last == len(source)


async def test_edits_accept_the_hash_of_read_file(bench: Workbench) -> None:
    shown = await bench.ok("read_file", path="loom/weave3.py", end_line=2)
    told = await bench.ok("get_file_metadata", path="loom/weave3.py")
    assert shown["content_hash"] == told["content_hash"]
    lines = {"first": 2, "last": 2, "code": "    total = 7\n"}
    edit = {"file": "loom/weave3.py", "expected_hash": shown["content_hash"], "lines": lines}
    assert (await bench.ok("apply_code_edit", edits=[edit]))["state"] == "applied"
    again = await bench.outcome("apply_code_edit", {"edits": [edit]})
    assert not isinstance(again, ToolCallCompleted)
    assert again.error.kind is ErrorKind.CONFLICT


def _fields(schema: JsonSchema, path: str = "") -> Iterator[tuple[str, JsonSchema]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}{name}", field
        yield from _fields(field, f"{path}{name}.")
        if isinstance(field.get("items"), dict):
            yield from _fields(field["items"], f"{path}{name}.")


def _vocabulary(tools: Registry) -> set[str]:
    """Every name that a text of a tool may mention: tools, arguments, results, their values."""
    known = set(KNOWN_WORDS) | set(tools.names())
    for tool in tools:
        for schema in (tool.arguments.model_json_schema(), result_schema_of(tool.result)):
            known |= set(re.findall(r"\w+", json.dumps(schema)))
    return known


def test_names_in_backticks_exist(tools: Registry) -> None:
    arguments = {name for spec in tools.specs() for name, _ in _fields(spec.parameters)}
    known = _vocabulary(tools) | {part for name in arguments for part in name.split(".")}
    for spec in tools.specs():
        texts = [
            spec.description,
            *(str(f.get("description")) for _, f in _fields(spec.parameters)),
        ]
        for text in texts:
            for quoted in re.findall(r"`([^`]+)`", text):
                unknown = {
                    word for word in re.findall(r"[A-Za-z_]\w*", quoted) if word not in known
                }
                assert not unknown, (spec.name, quoted)


def test_snake_case_and_camel_case_words_are_tools_or_their_fields(tools: Registry) -> None:
    known = set(tools.names())
    for spec, tool in zip(tools.specs(), tools, strict=True):
        known |= {part for name, _ in _fields(spec.parameters) for part in name.split(".")}
        result = result_schema_of(tool.result)
        known |= {part for name, _ in _fields(result) for part in name.split(".")}
    allowed = known | {"execute_tool"}  # the operation of recorded spans
    for spec in tools.specs():
        texts = [
            spec.description,
            *(str(f.get("description")) for _, f in _fields(spec.parameters)),
        ]
        for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]+[A-Z][A-Za-z]*\b", " ".join(texts)):
            assert word in allowed, (spec.name, word)


def _spoken() -> Iterator[tuple[Path, str]]:
    """Every text that the toolbox gives as a hint, a note or as how to get more."""
    for path in sorted(TOOLBOX.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg in {"hint", "more", "note", "next_step"}:
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield path, part.value


def test_hints_name_only_tools_and_arguments_that_exist(tools: Registry) -> None:
    known = set(tools.names())
    for spec, tool in zip(tools.specs(), tools, strict=True):
        known |= {part for name, _ in _fields(spec.parameters) for part in name.split(".")}
        known |= {
            part for name, _ in _fields(result_schema_of(tool.result)) for part in name.split(".")
        }
    for path, text in _spoken():
        for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]+[A-Z][A-Za-z]*\b", text):
            assert word in known, (path.name, text)


def test_bounds_in_descriptions_equal_the_schema(tools: Registry) -> None:
    for spec in tools.specs():
        for name, field in _fields(spec.parameters):
            bounds = [field.get("maximum"), field.get("maxItems"), field.get("maxLength")]
            for number in re.findall(r"\b(?:at most|up to) (\d+)", str(field.get("description"))):
                assert int(number) in bounds, (spec.name, name)


@pytest.mark.slow
async def test_only_values_within_the_schema_bounds_are_accepted(
    bench: Workbench,
) -> None:
    for spec in bench.app.registry.specs():
        tool = bench.app.registry.get(spec.name)
        reads = tool is not None and tool.effect is ToolEffect.READ
        for name, field in spec.parameters["properties"].items():
            for value, taken, said in _probes(field, LARGE[spec.name].get(name)):
                if taken and not reads:
                    continue
                arguments = {**LARGE[spec.name], name: value}
                outcome = await bench.outcome(spec.name, arguments)
                failure = None if isinstance(outcome, ToolCallCompleted) else outcome.error
                refused = (
                    failure is not None
                    and failure.kind is ErrorKind.VALIDATION
                    and (failure.field or "").split(".")[0] == name
                    and failure.expected is not None
                    and failure.expected.startswith(("a", "one of"))
                )
                if not taken:
                    assert refused, (spec.name, name, value, failure)
                    assert failure is not None
                    assert said in str(failure.expected), (spec.name, name, value, failure)
                elif failure is not None and refused:
                    assert "must be" not in failure.message, (spec.name, name, value, failure)


def _probes(field: JsonSchema, sample: Any) -> Iterator[tuple[Any, bool, str]]:
    """Values, whether the schema takes them, and what the refusal must state."""
    for bound, beyond in (("minimum", -1), ("maximum", 1)):
        if bound in field:
            yield field[bound], True, ""
            yield field[bound] + beyond, False, str(field[bound])
    for value in field.get("enum", ()):
        yield value, True, ""
    if "enum" in field:
        yield "nothing of the kind", False, str(field["enum"][0])
    if field.get("minLength"):
        yield "", False, "not empty" if "maxLength" not in field else "1 to"
    if "minItems" in field:
        yield [], False, str(field["minItems"])
    if "maxItems" in field and sample:
        yield [sample[0]] * (field["maxItems"] + 1), False, str(field["maxItems"])
