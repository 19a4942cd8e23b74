"""The vocabulary of MLflow, `mlflow.…`. MLflow's exporter sends all values as JSON text."""

from treadle.spans.span import SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import messages_json
from treadle.spans.vocabularies.values import as_content, as_dollars, as_text, parse_json

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


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    kind = parse_json(attributes.get("mlflow.spanType"))
    if isinstance(kind, str) and kind.upper() in _KINDS:
        columns.set_kind(*_KINDS[kind.upper()])
    if columns.kind is SpanKind.TOOL and columns.tool is None:
        columns.tool = as_text(columns.raw.name)
    given, answered = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
    request = parse_json(given)
    if columns.model is None:
        columns.model = as_text(parse_json(attributes.get("mlflow.llm.model")))
        if columns.model is None and columns.kind is SpanKind.MODEL and isinstance(request, dict):
            columns.model = as_text(request.get("model"))
    usage = parse_json(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, dict):
        columns.set_tokens(
            input=usage.get("input_tokens"),
            output=usage.get("output_tokens"),
            cached=usage.get("cache_read_input_tokens"),
            cache_write=usage.get("cache_creation_input_tokens"),
            total=usage.get("total_tokens"),
        )
    costs = parse_json(attributes.get("mlflow.llm.cost"))
    if columns.cost is None and isinstance(costs, dict):
        columns.cost = as_dollars(costs.get("total_cost"))
    if columns.kind is SpanKind.MODEL:
        columns.input = columns.input or messages_json(given, "user")
        columns.output = columns.output or messages_json(answered, "assistant")
    if columns.input is None:
        columns.input = as_content(given)
    if columns.output is None:
        columns.output = as_content(answered)


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"mlflow"}))
