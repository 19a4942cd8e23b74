"""The recorded model requests of a conversation."""

from collections.abc import Sequence
from uuid import UUID

from textual.content import Content

from treadle.app.conversation_answers import Session
from treadle.errors import NotFoundError
from treadle.spans.span import Span, SpanKind
from treadle.traces.amounts import duration, tokens
from treadle.tui.conversation.branches import Exchange, current_exchanges
from treadle.tui.screens.picker import Picker, filtered
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.text import TIME_COLUMNS, foreign_line, short_when
from treadle.tui.workbench import Workbench

_TURNS = 20
"""The number of turns whose requests are listed. These are the newest turns."""


class PastRequestsScreen(Picker[Span, tuple[str, str]]):
    """Lets the person choose a request, and returns the ids of its trace and its span."""

    TITLE_TEXT = "Past requests"
    ENTER = "Show"
    FILTER = "Type to find a request by its prompt or model"
    EMPTY = "No request of this conversation is recorded."
    NO_MATCH = "No request matches."
    HAS_PREVIEW = False

    def __init__(self, workbench: Workbench, conversation_id: UUID) -> None:
        super().__init__()
        self._workbench = workbench
        self._conversation_id = conversation_id
        self._rows: list[Row[Span]] | None = None

    async def find_rows(self, query: str) -> Sequence[Row[Span]]:
        """Return the requests under their prompts. The newest prompt comes first."""
        if self._rows is None:
            session = await self._workbench.conversation(str(self._conversation_id))
            self._rows = await self._read(session)
        return filtered(self._rows, query)

    async def choose_row(self, value: Span) -> None:
        """Return the request."""
        self.finish((value.trace_id, value.span_id))

    async def _read(self, session: Session) -> list[Row[Span]]:
        rows: list[Row[Span]] = []
        prompts = [each for each in current_exchanges(session) if each.prompt]
        for exchange in reversed(prompts[-_TURNS:]):
            request_id = exchange.messages[0].entry.request_id
            if request_id is None:
                continue
            try:
                trace = await self._workbench.trace(request_id)
            except NotFoundError:  # the trace was deleted, or not recorded
                continue
            spans = [span for span in trace.spans if span.kind is SpanKind.MODEL]
            if spans:
                rows.append(_heading(exchange))
                rows += [_row(span, exchange) for span in spans]
        return rows


def _heading(exchange: Exchange) -> Row[Span]:
    text = exchange.prompt.text.strip() if exchange.prompt else ""
    return Row(f"prompt {exchange.end}", None, lambda columns: foreign_line(text, columns=columns))


def _row(span: Span, exchange: Exchange) -> Row[Span]:
    def draw(columns: int) -> Content:
        return fields(
            columns,
            foreign_line(f"{span.provider or '?'}/{span.model or '?'}", columns=columns),
            (Content.styled(short_when(span.start_us), "$text-muted"), TIME_COLUMNS),
            (Content(duration(span.duration_us)), 9),
            (Content(tokens(span.tokens)), 28),
        )

    text = exchange.prompt.text if exchange.prompt else ""
    return Row(span.span_id, span, draw, f"{text} {span.model}")
