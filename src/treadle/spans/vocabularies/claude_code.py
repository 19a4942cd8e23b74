"""The vocabulary of Claude Code: spans named `claude_code.…` with names like `input_tokens`."""

from treadle.spans.span import SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.values import as_content, as_text

_KINDS = {
    "interaction": (SpanKind.AGENT, "invoke_agent"),
    "llm_request": (SpanKind.MODEL, "chat"),
    "tool": (SpanKind.TOOL, "execute_tool"),
}
_PREFIX = "claude_code."


def _read(columns: SpanColumns) -> None:
    # Parts of a tool call, such as `tool.execution`, are spans of another kind.
    name = columns.raw.name
    if not name.startswith(_PREFIX):
        return
    attributes = columns.raw.attributes
    kind = attributes.get("span.type", name.removeprefix(_PREFIX))
    if isinstance(kind, str) and kind in _KINDS:
        columns.set_kind(*_KINDS[kind])
    if columns.kind is SpanKind.TOOL and columns.tool is None:
        columns.tool = as_text(attributes.get("tool_name"))
    if columns.kind is SpanKind.AGENT and columns.input is None:
        columns.input = as_content(attributes.get("user_prompt"))
    if columns.kind is SpanKind.MODEL:
        if columns.model is None:
            columns.model = as_text(attributes.get("model"))
        columns.set_tokens(
            input=attributes.get("input_tokens"),
            output=attributes.get("output_tokens"),
            cached=attributes.get("cache_read_tokens"),
            cache_write=attributes.get("cache_creation_tokens"),
        )
        if columns.cache_outside_input is None:
            columns.cache_outside_input = True  # Anthropic's input excludes cached tokens
        waited = attributes.get("ttft_ms")
        if isinstance(waited, int | float) and not isinstance(waited, bool):
            columns.set_first_token(columns.raw.start_ns // 1_000 + round(waited * 1_000))
    if attributes.get("success") is False:
        columns.failed = True
        columns.error = columns.error or as_text(attributes.get("error"))


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"span", "input_tokens"}))
