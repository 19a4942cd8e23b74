"""Claude Code: spans named `claude_code.…` with flat attributes such as `input_tokens`."""

from treadle.spans.span import SpanKind
from treadle.spans.vocabularies.columns import Reading, content, text

_KINDS = {
    "interaction": (SpanKind.AGENT, "invoke_agent"),
    "llm_request": (SpanKind.MODEL, "chat"),
    "tool": (SpanKind.TOOL, "execute_tool"),
}
_PREFIX = "claude_code."


def read(reading: Reading) -> None:
    """Read `claude_code.…`; parts of a tool call, such as `tool.execution`, are other spans."""
    name = reading.raw.name
    if not name.startswith(_PREFIX):
        return
    said = reading.raw.attributes
    kind = said.get("span.type", name.removeprefix(_PREFIX))
    if isinstance(kind, str) and kind in _KINDS:
        reading.set_kind(*_KINDS[kind])
    if reading.kind is SpanKind.TOOL and reading.tool is None:
        reading.tool = text(said.get("tool_name"))
    if reading.kind is SpanKind.AGENT and reading.input is None:
        reading.input = content(said.get("user_prompt"))
    if reading.kind is SpanKind.MODEL:
        if reading.model is None:
            reading.model = text(said.get("model"))
        reading.set_tokens(
            input=said.get("input_tokens"),
            output=said.get("output_tokens"),
            cached=said.get("cache_read_tokens"),
            cache_write=said.get("cache_creation_tokens"),
        )
        if reading.beside is None:
            reading.beside = True  # Anthropic counts so
        waited = said.get("ttft_ms")
        if isinstance(waited, int | float) and not isinstance(waited, bool):
            reading.set_first(reading.raw.start_ns // 1_000 + round(waited * 1_000))
    if said.get("success") is False:
        reading.failed = True
        reading.error = reading.error or text(said.get("error"))
