"""Retrieves code for each user message, before the model receives the message.

The setting `context.automatic` limits the size of the retrieved code, or switches it off.
"""

import asyncio
from collections.abc import Callable, Sequence
from uuid import UUID

from treadle.clock import Clock
from treadle.code import CodeIndex, ContextEntry, most_items
from treadle.code.context.budget import ContextBudget
from treadle.config.model import ContextSettings
from treadle.events import EventBus
from treadle.events.types import RetrievalFinished, SourceRange
from treadle.llm.chat_model import ChatModel
from treadle.session import AutomaticContext
from treadle.tokens import estimate
from treadle.toolbox.code.request_code_context import only_open

BUDGETS = {"off": 0, "light": 1_200, "full": 6_000}
"""The maximum number of tokens of the retrieved code, for each value of the setting."""

_MAX_PART = 8
"""The context window divided by this number is the limit for the tokens of the retrieved code."""

_HEADING = "Current code of this repository that may be relevant to the message below:"


def automatic_context(
    bus: EventBus,
    index: CodeIndex,
    settings: ContextSettings,
    model: ChatModel,
    clock: Clock,
    *,
    open_to: Callable[[str], bool],
) -> AutomaticContext | None:
    """Return a function that retrieves code for a message.

    `open_to` decides which files a model may read. Returns None if the setting is off or the
    context window of the model is too small.
    """
    budget = BUDGETS[settings.automatic]
    top_k = most_items(budget)
    if not budget or model.context_window < budget * _MAX_PART:
        return None

    async def retrieve(user_text: str, request_id: UUID) -> str:
        room = ContextBudget(budget - estimate(_text(())), _part)

        def fits(entries: Sequence[ContextEntry], _omitted: int) -> bool:
            return room.holds(entries)

        started_us, started = clock.now_us(), clock.monotonic()
        found = await asyncio.to_thread(index.context, user_text, top_k=top_k, fits=fits)
        found = only_open(found, open_to)
        status = await asyncio.to_thread(index.status)
        text = _text(found.entries) if found.entries else ""
        await bus.publish(
            RetrievalFinished(
                request_id=request_id,
                parent_id=request_id,
                key=None,
                query=user_text,
                top_k=top_k,
                sources=tuple(
                    SourceRange(entry.file, entry.start_line, entry.end_line, entry.canonical_path)
                    for entry in found.entries
                ),
                omitted=found.omitted,
                tokens=estimate(text),
                budget=budget,
                index_files=status.files,
                index_items=status.items,
                started_us=started_us,
                duration=clock.monotonic() - started,
            )
        )
        return text

    return retrieve


def _text(entries: Sequence[ContextEntry]) -> str:
    return "\n\n".join([_HEADING, *map(_part, entries)])


def _part(entry: ContextEntry) -> str:
    lines = f"{entry.file}:{entry.start_line}-{entry.end_line}"
    return f"{entry.canonical_path} ({lines})\n{entry.snippet}"
