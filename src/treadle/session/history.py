"""The prompt of a model request: the part of the history that fits the context window."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from treadle.errors import TreadleError
from treadle.events.types import CallKey, Effect, ErrorKind, ToolFailure
from treadle.llm.chat_model import ChatModel
from treadle.llm.error_texts import Window
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.tokens import estimate
from treadle.tools.failures import failure_content
from treadle.tools.message_size import fit_message

_CREDIBLE = (0.5, 2.0)
"""The credible range of a provider's token count divided by Treadle's estimate.

Counts outside this range are ignored. The counts of current models differ from the estimates by a
factor of up to 1.4 (docs/decisions, 9).
"""


class Calibration:
    """The factor that scales token estimates, and the learned context window, of each model."""

    def __init__(self) -> None:
        self._scales: dict[tuple[str, str], float] = {}
        self._windows: dict[tuple[str, str], int] = {}

    def scale(self, model: ChatModel) -> float:
        """Return the factor that converts an estimate to tokens of the model."""
        return self._scales.get((model.provider, model.model), 1.0)

    def window(self, model: ChatModel) -> int:
        """Return the window in tokens of input and output.

        It may be smaller than the configured window.
        """
        known = self._windows.get((model.provider, model.model), model.context_window)
        return min(known, model.context_window)

    def narrow(self, model: ChatModel, window: int) -> None:
        """Set a smaller window for the later requests of a model."""
        self._windows[model.provider, model.model] = window

    def learn(self, model: ChatModel, estimated: int, counted: int | None) -> None:
        """Set the factor of a model from the tokens that its provider counted for a request.

        `estimated` is the unscaled estimate of the request. Only the last request matters, since it
        contains the earlier requests. A `counted` of None changes nothing.
        """
        if counted is None or not estimated:
            return
        least, most = _CREDIBLE
        if least <= counted / estimated <= most:
            self._scales[model.provider, model.model] = counted / estimated


_MESSAGE_TOKENS = 4
_CALL_TOKENS = 24
"""Tokens of a message and of a call in addition to their text: roles, separators and ids."""
_FENCE_TOKENS = 40
"""The tokens of the fence around retrieved context.

The fence contains its name of twelve hexadecimal digits twice.
"""

_RESERVE_SHARE = 4
_RESERVE_LIMIT = 4_096
"""The maximum number of tokens for the reply, which otherwise gets a quarter of the window."""

_OLD_RESULT_TOKENS = 200
"""The tokens that are kept of an older tool result in the current run when space is short."""
_MIN_RESULT_TOKENS = 60

_ROOM_SHARE = 0.9
"""The fraction of the free tokens that results may take.

The rest is a reserve, because the scale of the model may change until the next prompt.
"""

_NOT_FINISHED = failure_content(
    ToolFailure(ErrorKind.CANCELLED, "The call ended without a result.", effect=Effect.UNKNOWN)
)


class ContextWindowError(TreadleError):
    """The newest user message does not fit, even if all other messages are left out."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a request, the estimated tokens of messages and tools, and the budget.

    `left_out` is the number of messages that were left out. `reason` says in words what was left
    out or shortened and why. `unscaled_tokens` is the estimate before it is scaled to a model.
    `room` is the number of tokens that the reply and the results of its calls may take without
    being shortened later.
    """

    messages: tuple[Message, ...]
    estimated_tokens: int
    budget_tokens: int
    left_out: int = 0
    reason: str | None = None
    unscaled_tokens: int = 0
    room: int = 0


class TokenCounts:
    """Estimated tokens of messages.

    Estimates are remembered, since each model request counts the history.
    """

    def __init__(self) -> None:
        self._known: dict[Message, int] = {}

    def of(self, messages: Sequence[Message]) -> int:
        """Return the tokens of all `messages` together."""
        return sum(self._one(message) for message in messages)

    def _one(self, message: Message) -> int:
        if message not in self._known:
            self._known[message] = _MESSAGE_TOKENS + _estimate(message)
        return self._known[message]


def tools_tokens(tools: Sequence[ToolSpec]) -> int:
    """Return the estimated tokens of the tools' names, descriptions and schemas."""
    return sum(
        _MESSAGE_TOKENS + estimate(tool.name + tool.description) + estimate(_json(tool.parameters))
        for tool in tools
    )


def output_reserve(context_window: int) -> int:
    """Return the number of tokens of the window that are kept for the reply."""
    return min(_RESERVE_LIMIT, context_window // _RESERVE_SHARE)


def build_prompt(
    system: str | SystemMessage,
    history: Sequence[Message],
    tools: Sequence[ToolSpec],
    *,
    context_window: int,
    counts: TokenCounts | None = None,
    scale: float = 1.0,
) -> Prompt:
    """Build the messages of a request: the system prompt, then as much of `history` as fits.

    The results of a reply follow it directly, one for each call, in the order of the slots. The
    following steps are applied in this order until the prompt fits. Leave out the oldest exchanges
    (a user message and everything up to the next one). Shorten older tool results of the current
    run. Limit the newest results to half the budget. Leave out the oldest replies of the current
    run with their results. Leave out the automatic context. Shorten the newest results to the rest
    of the budget.

    The text of the newest user message, and of the messages that steer its run, never changes.
    Raises `ContextWindowError` when that text does not fit. `scale` converts estimates to tokens of
    the model.
    """
    budget = context_window - output_reserve(context_window)
    fitter = _Fitter(
        SystemMessage(system) if isinstance(system, str) else system,
        repair(history),
        int(budget / scale) - tools_tokens(tools),
        counts or TokenCounts(),
    )
    fitter.fit()
    unscaled = fitter.tokens() + tools_tokens(tools)
    estimated = math.ceil(unscaled * scale)
    if estimated > budget:
        raise ContextWindowError(
            f"The message with the system prompt and {len(tools)} tools needs about"
            f" {estimated:,} tokens; the model's window of {context_window:,} leaves"
            f" {budget:,} for them.",
            hint="Shorten the message, attach less, offer no tools, or choose a model with a larger"
            " window.",
        )
    reason = f"{', '.join(fitter.changes)}, to fit {budget:,} tokens" if fitter.changes else None
    if history and isinstance(first := history[0], NoteMessage) and first.covers:
        replaced = f"a summary replaces the first {first.covers} messages of the conversation"
        reason = f"{replaced}; {reason}" if reason else replaced
    return Prompt(
        fitter.messages(), estimated, budget, fitter.left_out, reason, unscaled, fitter.room()
    )


def result_limit(room: int, calls: int, maximum: int) -> int:
    """Return the token limit of each of `calls` results, which together should fit into `room`.

    The limit is at most `maximum` and at least `_MIN_RESULT_TOKENS`.
    """
    each = room // max(1, calls) - _MESSAGE_TOKENS - _CALL_TOKENS
    return max(_MIN_RESULT_TOKENS, min(maximum, each))


def smaller_window(prompt: Prompt, reported: Window | None) -> int:
    """Return a smaller window for a prompt that the model found too long.

    The limit in the refusal is converted to Treadle's estimates, since the model may count more
    tokens. If the refusal states no usable limit, the next prompt may have 60 % of the tokens of
    this prompt.
    """
    most = prompt.estimated_tokens * 6 // 10
    if reported is not None and reported.limit is not None and reported.sent is not None:
        limit = reported.limit * prompt.estimated_tokens // reported.sent
        fits = limit - output_reserve(limit)
        most = fits if most // 2 < fits < prompt.estimated_tokens else most
    elif reported is not None and reported.limit is not None:
        fits = reported.limit - output_reserve(reported.limit)
        most = fits if most // 4 < fits < most else most
    room = most + min(_RESERVE_LIMIT, most // (_RESERVE_SHARE - 1))
    return max(room, 256)


def repair(history: Sequence[Message]) -> list[list[Message]]:
    """Group `history` into units that stay together: a reply with its results, or one message.

    A result without a call in the reply before it is dropped. A call that a crash left without a
    result gets one. If a call has two results, the first is kept. A note between a reply and its
    results is moved after the results.
    """
    units: list[list[Message]] = []
    answers: list[dict[CallKey, ToolMessage]] = []
    current: dict[CallKey, ToolMessage] = {}
    for message in history:
        if isinstance(message, SystemMessage):
            continue
        if isinstance(message, ToolMessage):
            current.setdefault(message.key, message)
            continue
        if not isinstance(message, NoteMessage):
            current = {}
        units.append([message])
        answers.append(current)
    for unit, results in zip(units, answers, strict=True):
        if isinstance(unit[0], AssistantMessage):
            unit += [
                results.get(call.key) or ToolMessage(call.key, _NOT_FINISHED, ok=False)
                for call in unit[0].calls
            ]
    return units


def begins_turn(message: Message) -> bool:
    """Whether the message is from the person and begins a run.

    A message that steers a run does not begin one.
    """
    return isinstance(message, UserMessage) and not message.steers


class _Fitter:
    """Leaves out or shortens messages step by step until they fit the budget."""

    def __init__(
        self,
        system: SystemMessage,
        units: list[list[Message]],
        budget: int,
        counts: TokenCounts,
    ) -> None:
        self._system = system
        newest = max(
            (position for position, unit in enumerate(units) if begins_turn(unit[0])),
            default=0,
        )
        self._older = units[:newest]
        self._user = units[newest : newest + 1]
        run = units[newest + 1 :]
        replies = [
            position for position, unit in enumerate(run) if isinstance(unit[0], AssistantMessage)
        ]
        last = replies[-1] if replies else 0
        self._run = run[:last]
        self._newest = run[last:]
        self._budget = budget
        self._counts = counts
        self.left_out = 0
        self.changes: list[str] = []

    def messages(self) -> tuple[Message, ...]:
        units = [*self._older, *self._user, *self._run, *self._newest]
        return (self._system, *(message for unit in units for message in unit))

    def tokens(self) -> int:
        return self._counts.of(self.messages())

    def room(self) -> int:
        """Return the tokens that the next reply and its results may take without later shortening.

        The reply and its results may displace older messages except the question, up to half the
        budget.
        """
        question = [m for unit in self._user for m in unit if isinstance(m, UserMessage)]
        fixed = self._counts.of([self._system, *(replace(m, context="") for m in question)])
        free = max(self._budget // 2, self._budget - self.tokens())
        return max(0, int(_ROOM_SHARE * min(free, self._budget - fixed)))

    def fit(self) -> None:
        for step in (
            self._drop_older_exchanges,
            self._shorten_older_results,
            self._halve_newest_results,
            self._drop_older_replies,
            self._drop_context,
            self._squeeze_newest_results,
        ):
            if self._excess() <= 0:
                return
            step()

    def _excess(self) -> int:
        return self.tokens() - self._budget

    def _drop_older_exchanges(self) -> None:
        """Leave out the oldest exchanges first, and a summary last."""
        over, dropped = self._excess(), 0
        summary = int(bool(self._older) and isinstance(self._older[0][0], NoteMessage))
        while over > 0 and self._older:
            start = summary if len(self._older) > summary else 0
            begins = [begins_turn(unit[0]) for unit in self._older[start + 1 :]]
            end = start + 1 + (begins.index(True) if True in begins else len(begins))
            gone = [message for unit in self._older[start:end] for message in unit]
            del self._older[start:end]
            over -= self._counts.of(gone)
            dropped += len(gone)
        self._note_dropped(dropped, "of earlier exchanges")

    def _drop_older_replies(self) -> None:
        over, dropped = self._excess(), 0
        kept: list[list[Message]] = []
        for unit in self._run:
            if over > 0 and not isinstance(unit[0], UserMessage):
                over -= self._counts.of(unit)
                dropped += len(unit)
            else:
                kept.append(unit)
        self._run = kept
        self._note_dropped(dropped, "of the current run")

    def _note_dropped(self, dropped: int, description: str) -> None:
        if dropped:
            self.left_out += dropped
            self.changes.append(f"{dropped} {_plural(dropped, 'message')} {description} left out")

    def _shorten_older_results(self) -> None:
        shortened, over = 0, self._excess()
        for unit in self._run:
            if over <= 0:
                break
            before = self._counts.of(unit)
            shortened += self._shorten(unit, _OLD_RESULT_TOKENS)
            over -= before - self._counts.of(unit)
        if shortened:
            self.changes.append(f"{shortened} older tool {_plural(shortened, 'result')} shortened")

    def _halve_newest_results(self) -> None:
        self._shorten_newest(self._budget // 2)

    def _squeeze_newest_results(self) -> None:
        """Shorten the newest results by the excess.

        Shorten them by more if the notices about the shortening need the tokens that were saved.
        """
        together = self._counts.of(self._newest_results()) - self._excess()
        self._shorten_newest(together)
        while self._excess() > 0 and together > 0:
            together -= max(_MIN_RESULT_TOKENS, together // 8)
            self._shorten_newest(together)

    def _shorten_newest(self, together: int) -> None:
        """Shorten the results of the newest reply so that they take `together` tokens."""
        count = max(1, len(self._newest_results()))
        each = max(_MIN_RESULT_TOKENS, together // count - _MESSAGE_TOKENS - _CALL_TOKENS)
        reported = "newest tool results shortened"
        shortened = sum(self._shorten(unit, each) for unit in self._newest)
        if shortened and reported not in self.changes:
            self.changes.append(reported)

    def _newest_results(self) -> list[Message]:
        return [m for unit in self._newest for m in unit if isinstance(m, ToolMessage)]

    def _shorten(self, unit: list[Message], limit: int) -> int:
        """Shorten the results in `unit` to `limit` tokens each. Returns the number of changes."""
        shortened = 0
        for position, message in enumerate(unit):
            if isinstance(message, ToolMessage):
                content = fit_message(message.content, limit)
                if content != message.content and len(content) < len(message.content):
                    unit[position] = replace(message, content=content)
                    shortened += 1
        return shortened

    def _drop_context(self) -> None:
        reported = "automatic context omitted"
        for unit in (*self._user, *self._run, *self._newest):
            for position, message in enumerate(unit):
                if isinstance(message, UserMessage) and message.context:
                    unit[position] = replace(message, context="")
                    if reported not in self.changes:
                        self.changes.append(reported)


def _estimate(message: Message) -> int:
    match message:
        case AssistantMessage():
            text = sum(estimate(part) for part in (message.text, message.reasoning) if part)
            opaque = estimate(message.opaque) if message.opaque else 0
            return (
                text
                + opaque
                + sum(
                    _call_tokens(call.name, call.arguments, call.opaque) for call in message.calls
                )
            )
        case ToolMessage():
            return _CALL_TOKENS + estimate(message.content)
        case UserMessage():
            fenced = [message.context] if message.context else []
            fenced += [each.name + each.text for each in message.attached]
            return estimate(message.text) + sum(_FENCE_TOKENS + estimate(each) for each in fenced)
        case SystemMessage() | NoteMessage():
            return estimate(message.text)


def _call_tokens(name: str, arguments: str, opaque: str | None) -> int:
    return _CALL_TOKENS + estimate(name) + estimate(arguments) + estimate(opaque or "")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
