"""The substitute for a model where none is available: it answers with a report on the records."""

from collections.abc import Awaitable, Callable

from treadle.events.types import Usage
from treadle.llm.chat_model import ModelObserver
from treadle.llm.messages import AssistantMessage, ChatRequest, ModelReply

NEEDS_MODEL = (
    "Free questions need a model, and none is available: this is the report on the selected "
    'records. To ask questions, set `model = "PROVIDER/MODEL"` in the configuration, or set '
    "OPENAI_API_KEY or OPENROUTER_API_KEY in the environment."
)
"""The first paragraph of an answer without a model."""


class ReportModel:
    """A `ChatModel` whose only reply is the text that `write_report` returns."""

    provider = "treadle"
    model = "rules"
    context_window = 1_000_000_000
    callable_tools: frozenset[str] | None = frozenset()

    def __init__(self, write_report: Callable[[], Awaitable[str]]) -> None:
        self._write_report = write_report

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:  # noqa: ARG002
        """The report; it costs nothing, and `observer` receives no attempt."""
        text = f"{NEEDS_MODEL}\n\n{await self._write_report()}"
        message = AssistantMessage(text, provider=self.provider, model=self.model)
        return ModelReply(message, "stop", Usage(0, 0), cost=0.0)

    async def close(self) -> None:
        """There is nothing to close."""
