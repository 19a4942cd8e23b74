"""The preview of a conversation: its facts and its last exchanges."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from treadle.app.conversation_answers import Session
from treadle.clock import when
from treadle.display.lines import short_id
from treadle.events.types import StopReason
from treadle.tui.conversation.branches import Exchange, exchanges
from treadle.tui.text import foreign, foreign_line

_EXCHANGES = 3
"""The number of exchanges in a preview."""
_PROMPT_LINES = 6
_ANSWER_LINES = 14


def conversation_preview(session: Session) -> Content:
    """Return the facts of a conversation and the last exchanges of its current branch."""
    conversation, all_exchanges = session.conversation, exchanges(session)
    current = [each for each in all_exchanges if each.current]
    parts = [
        Content.assemble(
            foreign_line(conversation.title or "A conversation", "bold"),
            (f"\n{short_id(str(conversation.id))}  ", "$text-muted"),
            foreign_line(conversation.model, "$text-muted"),
            (f"\nbegan {when(conversation.created_us)}", "$text-muted"),
        )
    ]
    if (count := len(session.messages) - len(session.branch)) > 0:
        noun = "message is" if count == 1 else "messages are"
        parts.append(Content.styled(f"{count} {noun} on other branches.", "$text-muted"))
    if len(current) > _EXCHANGES:
        parts.append(Content.styled(f"… {len(current) - _EXCHANGES} earlier", "$text-muted"))
    for exchange in current[-_EXCHANGES:]:
        parts += exchange_preview(exchange)
    return Content("\n\n").join(parts)


def exchange_preview(exchange: Exchange) -> Iterator[Content]:
    """Yield the beginnings of the prompt and answer, and a note if the turn did not complete."""
    if exchange.prompt is not None:
        shown = _beginning(exchange.prompt.text, _PROMPT_LINES)
        yield Content.assemble(("▌ ", "$text-primary"), shown.stylize("bold"))
    if exchange.answer:
        yield _beginning(exchange.answer, _ANSWER_LINES)
    if (ended := end_of(exchange.stop_reason)) and exchange.prompt is not None:
        yield Content.styled(f"({ended})", "$text-warning")


def end_of(reason: StopReason | None) -> str:
    """Return how a turn ended, in a few words. The text is empty for a completed turn."""
    if reason is StopReason.COMPLETED:
        return ""
    if reason is None:
        return "runs, or was interrupted"
    return str(reason).replace("_", " ")


def _beginning(text: str, limit: int) -> Content:
    lines: Sequence[str] = text.strip().splitlines()
    shown = "\n".join(line[:2_000] for line in lines[:limit])
    return foreign(shown + ("\n…" if len(lines) > limit else ""))
