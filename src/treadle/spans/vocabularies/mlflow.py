"""MLflow: `mlflow.…`, whose values are JSON in text, as its exporter to OTLP sends them."""

from treadle.spans.span import SpanKind
from treadle.spans.vocabularies.columns import Reading, content, dollars, parsed, text
from treadle.spans.vocabularies.messages import written_messages

_KINDS = {
    "LLM": (SpanKind.MODEL, "chat"),
    "CHAT_MODEL": (SpanKind.MODEL, "chat"),
    "TOOL": (SpanKind.TOOL, "execute_tool"),
    "RETRIEVER": (SpanKind.RETRIEVAL, "retrieval"),
    "RERANKER": (SpanKind.RETRIEVAL, "rerank"),
    "EMBEDDING": (SpanKind.EMBEDDING, "embeddings"),
    "AGENT": (SpanKind.AGENT, "invoke_agent"),
    "CHAIN": (SpanKind.AGENT, "chain"),
    "WORKFLOW": (SpanKind.AGENT, "invoke_workflow"),
    "GUARDRAIL": (SpanKind.OTHER, "guardrail"),
    "EVALUATOR": (SpanKind.OTHER, "evaluate"),
}


def read(reading: Reading) -> None:
    """Read `mlflow.…`."""
    said = reading.raw.attributes
    kind = parsed(said.get("mlflow.spanType"))
    if isinstance(kind, str) and kind.upper() in _KINDS:
        reading.set_kind(*_KINDS[kind.upper()])
    if reading.kind is SpanKind.TOOL and reading.tool is None:
        reading.tool = text(reading.raw.name)
    given, answered = said.get("mlflow.spanInputs"), said.get("mlflow.spanOutputs")
    asked = parsed(given)
    if reading.model is None:
        reading.model = text(parsed(said.get("mlflow.llm.model")))
        if reading.model is None and reading.kind is SpanKind.MODEL and isinstance(asked, dict):
            reading.model = text(asked.get("model"))
    usage = parsed(said.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, dict):
        reading.set_tokens(
            input=usage.get("input_tokens"),
            output=usage.get("output_tokens"),
            cached=usage.get("cache_read_input_tokens"),
            cache_write=usage.get("cache_creation_input_tokens"),
            total=usage.get("total_tokens"),
        )
    costs = parsed(said.get("mlflow.llm.cost"))
    if reading.cost is None and isinstance(costs, dict):
        reading.cost = dollars(costs.get("total_cost"))
    if reading.kind is SpanKind.MODEL:
        reading.input = reading.input or written_messages(given, "user")
        reading.output = reading.output or written_messages(answered, "assistant")
    if reading.input is None:
        reading.input = content(given)
    if reading.output is None:
        reading.output = content(answered)
