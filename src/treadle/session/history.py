"""The prompt of a model request: the part of the history that fits the context window."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from treadle.errors import TreadleError
from treadle.events.types import CallKey, Effect, ErrorKind, ToolFailure
from treadle.llm.error_texts import Window
from treadle.llm.messages import (
    AssistantMessage,
    AttachedText,
    Message,
    NoteMessage,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.session.message_tokens import (
    CALL_TOKENS,
    MESSAGE_TOKENS,
    TokenCounts,
    tools_tokens,
)
from treadle.tools.failures import failure_content
from treadle.tools.message_size import fit_message

_RESERVE_SHARE = 4
_RESERVE_LIMIT = 4_096
"""The maximum number of tokens that a prompt leaves for the reply.

In a small window, the prompt leaves a quarter of the window.
"""

_OLD_RESULT_TOKENS = 200
"""The number of tokens to which older tool results are shortened if the prompt does not fit.

Only results of the current run are shortened in this way.
"""
_MIN_RESULT_TOKENS = 60

_ROOM_SHARE = 0.9
"""The fraction of the free tokens that results may take.

The rest is a reserve. The factor that converts estimates to the model's tokens may increase before
the next prompt.
"""

_NOT_FINISHED = failure_content(
    ToolFailure(ErrorKind.CANCELLED, "The call ended without a result.", effect=Effect.UNKNOWN)
)


class Omission(StrEnum):
    """The reason why a message of the history was left out of a prompt or shortened."""

    SPACE = "space"
    """The prompt would exceed its budget."""
    IMAGES = "images"
    """The model takes no images."""
    INVALID = "invalid"
    """The message is a result without a call, or a second result of a call."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The form in which a prompt contains one message of the history.

    `position` is the position in the history. It is None for a result that Treadle added because a
    call had none. `sent` is the message in the prompt, or None if it was left out. If the message
    was shortened, `sent` differs from `original`. `omission` is the reason if the message was left
    out or shortened.
    """

    position: int | None
    original: Message
    sent: Message | None
    omission: Omission | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a request, the estimated tokens of messages and tools, and the budget.

    `left_out` is the number of messages that were left out. `reason` states in words what was left
    out or shortened and why. `estimated_tokens` is the estimate multiplied by `scale`, the factor
    of the model. `unscaled_tokens` is the estimate without this factor. `room` is the number of
    tokens that the reply and the results of its calls may take without being shortened in the next
    prompt. `decisions` has a decision for each message of the history. The budget was calculated
    with `context_window`, `scale` and `tool_tokens`.
    """

    messages: tuple[Message, ...]
    estimated_tokens: int
    budget_tokens: int
    left_out: int = 0
    reason: str | None = None
    unscaled_tokens: int = 0
    room: int = 0
    decisions: tuple[Decision, ...] = ()
    context_window: int = 0
    scale: float = 1.0
    tool_tokens: int = 0


class ContextWindowError(TreadleError):
    """The newest user message does not fit, even if all other messages are left out.

    `prompt` is the prompt that is too large.
    """

    def __init__(self, prompt: "Prompt", tools: int) -> None:
        super().__init__(
            f"The message with the system prompt and {tools} tools needs about"
            f" {prompt.estimated_tokens:,} tokens; the model's window of"
            f" {prompt.context_window:,} leaves {prompt.budget_tokens:,} for them.",
            hint="Shorten the message, attach or pin less, offer no tools, or choose a model with"
            " a larger window.",
        )
        self.prompt = prompt


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
    pinned: Sequence[AttachedText] = (),
    images: bool = True,
) -> Prompt:
    """Build the messages of a request: the system prompt, then as much of `history` as fits.

    The results of a reply follow it directly, one for each call, in the order of the slots. If the
    prompt does not fit, the following steps are applied in this order until it fits. Replace images
    of earlier exchanges by notes. (An exchange is a user message with everything up to the next
    one.) Leave out the oldest exchanges. Shorten older tool results of the current run. Shorten the
    results of the newest reply so that they take at most half the budget. Leave out the oldest
    replies of the current run with their results. Leave out the automatic context. Shorten the
    results of the newest reply until they fit. Leave out the instruction files.

    Some parts never change: the text and the attachments of the newest user message, and the text
    of the messages that steer its run. `pinned` is code that is sent with the newest user message.
    If `images` is False, a note replaces each image. Raises `ContextWindowError` if these parts
    alone do not fit. `scale` converts estimates to tokens of the model.
    """
    budget = context_window - output_reserve(context_window)
    tool_tokens = tools_tokens(tools)
    fitter = _Fitter(
        SystemMessage(system) if isinstance(system, str) else system,
        _parts_in_units(history),
        int(budget / scale) - tool_tokens,
        counts or TokenCounts(),
        pinned,
    )
    if not images:
        fitter.leave_out_images()
    fitter.fit()
    unscaled = fitter.tokens() + tool_tokens
    reason = f"{', '.join(fitter.changes)}, to fit {budget:,} tokens" if fitter.changes else None
    if history and isinstance(first := history[0], NoteMessage) and first.covers:
        replaced = f"a summary replaces the first {first.covers} messages of the conversation"
        reason = f"{replaced}; {reason}" if reason else replaced
    prompt = Prompt(
        fitter.messages(),
        math.ceil(unscaled * scale),
        budget,
        fitter.left_out,
        reason,
        unscaled,
        fitter.room(),
        fitter.decisions(history),
        context_window,
        scale,
        tool_tokens,
    )
    if prompt.estimated_tokens > budget:
        raise ContextWindowError(prompt, len(tools))
    return prompt


def result_limit(room: int, calls: int, maximum: int) -> int:
    """Return the token limit for one result.

    With this limit, the results of `calls` calls together fit into `room`, if possible. The limit
    is at most `maximum` and at least `_MIN_RESULT_TOKENS`.
    """
    each = room // max(1, calls) - MESSAGE_TOKENS - CALL_TOKENS
    return max(_MIN_RESULT_TOKENS, min(maximum, each))


def smaller_window(prompt: Prompt, reported: Window | None) -> int:
    """Return a smaller window for a prompt that the model found too long.

    The limit in the refusal is in tokens of the model, so it is converted to Treadle's estimates.
    If the refusal states no usable limit, the next prompt may have 60 % of the tokens of this
    prompt.
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


@dataclass(slots=True)
class _Part:
    """A message of the history, and its position. `message` is the form in which it is sent."""

    position: int | None
    original: Message
    message: Message


def repair(history: Sequence[Message]) -> list[list[Message]]:
    """Group `history` into units that stay together: a reply with its results, or one message.

    A result without a call in the reply before it is dropped. A call without a result, for example
    after a crash, gets one. If a call has two results, the first is kept. A note between a reply
    and its results is moved after the results.
    """
    return [[part.message for part in unit] for unit in _parts_in_units(history)]


def _parts_in_units(history: Sequence[Message]) -> list[list[_Part]]:
    units: list[list[_Part]] = []
    answers: list[dict[CallKey, _Part]] = []
    current: dict[CallKey, _Part] = {}
    for position, message in enumerate(history):
        part = _Part(position, message, message)
        if isinstance(message, SystemMessage):
            continue
        if isinstance(message, ToolMessage):
            current.setdefault(message.key, part)
            continue
        if not isinstance(message, NoteMessage):
            current = {}
        units.append([part])
        answers.append(current)
    for unit, results in zip(units, answers, strict=True):
        if isinstance(reply := unit[0].message, AssistantMessage):
            unit += [results.get(call.key) or _missing_result(call.key) for call in reply.calls]
    return units


def _missing_result(key: CallKey) -> _Part:
    result = ToolMessage(key, _NOT_FINISHED, ok=False)
    return _Part(None, result, result)


def begins_turn(message: Message) -> bool:
    """Whether the message is from the person and begins a run.

    A message that steers a run does not begin one.
    """
    return isinstance(message, UserMessage) and not message.steers


def has_instructions(message: Message) -> bool:
    """Whether the message is a note with instruction files."""
    return isinstance(message, NoteMessage) and bool(message.instructions)


class _Fitter:
    """Leaves out or shortens messages step by step until they fit the budget."""

    def __init__(
        self,
        system: SystemMessage,
        units: list[list[_Part]],
        budget: int,
        counts: TokenCounts,
        pinned: Sequence[AttachedText],
    ) -> None:
        self._system = system
        newest = max(
            (position for position, unit in enumerate(units) if begins_turn(unit[0].message)),
            default=0,
        )
        self._older = units[:newest]
        self._instructions: list[list[_Part]] = []
        """Instruction files of left out exchanges. They stay, before the other messages."""
        self._user = units[newest : newest + 1]
        for part in (part for unit in self._user for part in unit):
            if isinstance(question := part.message, UserMessage):
                part.message = replace(question, attached=(*pinned, *question.attached))
        run = units[newest + 1 :]
        replies = [
            position
            for position, unit in enumerate(run)
            if isinstance(unit[0].message, AssistantMessage)
        ]
        last = replies[-1] if replies else 0
        self._run = run[:last]
        self._newest = run[last:]
        self._all = [part for unit in units for part in unit]
        self._budget = budget
        self._counts = counts
        self._images = True
        self.left_out = 0
        self.changes: list[str] = []

    def messages(self) -> tuple[Message, ...]:
        return (self._system, *(part.message for part in self._kept()))

    def decisions(self, history: Sequence[Message]) -> tuple[Decision, ...]:
        """The decision about each message, in the order of the prompt.

        The decisions about invalid results come last.
        """
        kept = {id(part) for part in self._kept()}
        found = [_decision(part, kept=id(part) in kept, images=self._images) for part in self._all]
        used = {part.position for part in self._all}
        found += [
            Decision(position, message, None, Omission.INVALID)
            for position, message in enumerate(history)
            if position not in used and not isinstance(message, SystemMessage)
        ]
        return tuple(found)

    def _kept(self) -> list[_Part]:
        units = [*self._instructions, *self._older, *self._user, *self._run, *self._newest]
        return [part for unit in units for part in unit]

    def tokens(self) -> int:
        return self._counts.of(self.messages())

    def room(self) -> int:
        """Return the number of tokens for the next reply and its results.

        If they take no more, they need not be shortened in the next prompt. Older messages can be
        left out to make room for them, but not the current user message. Therefore at least half
        the budget counts as free.
        """
        question = [part.message for unit in self._user for part in unit]
        fixed = self._counts.of(
            [
                self._system,
                *(replace(m, context="") for m in question if isinstance(m, UserMessage)),
                *(part.message for part in self._kept() if has_instructions(part.message)),
            ]
        )
        free = max(self._budget // 2, self._budget - self.tokens())
        return max(0, int(_ROOM_SHARE * min(free, self._budget - fixed)))

    def fit(self) -> None:
        for step in (
            self._drop_older_images,
            self._drop_older_exchanges,
            self._shorten_older_results,
            self._halve_newest_results,
            self._drop_older_replies,
            self._drop_context,
            self._squeeze_newest_results,
            self._drop_instructions,
        ):
            if self._excess() <= 0:
                return
            step()

    def _excess(self) -> int:
        return self.tokens() - self._budget

    def leave_out_images(self) -> None:
        """Replace all images by notes, because the model takes no images."""
        self._images = False
        replaced = sum(
            self._replace_images(part, "The model takes no images.") for part in self._kept()
        )
        if replaced:
            self.changes.append("images left out because the model takes none")

    def _drop_older_images(self) -> None:
        replaced, over = 0, self._excess()
        for part in (part for unit in self._older for part in unit):
            if over <= 0:
                break
            before = part.message
            count = self._replace_images(part, "It does not fit into the window.")
            if count:
                replaced += count
                over -= self._counts.of([before]) - self._counts.of([part.message])
        if replaced:
            self.changes.append(f"{replaced} {_plural(replaced, 'image')} left out")

    def _replace_images(self, part: _Part, reason: str) -> int:
        """Replace the images of a message by notes. Returns the number of images."""
        message = part.message
        if not isinstance(message, UserMessage) or not message.images:
            return 0
        notes = tuple(
            AttachedText(
                image.name,
                f"This {image.media_type} of {len(image.data):,} bytes is not sent. {reason}",
            )
            for image in message.images
        )
        part.message = replace(message, attached=(*message.attached, *notes), images=())
        return len(notes)

    def _drop_older_exchanges(self) -> None:
        """Leave out the oldest exchanges until the prompt fits. A summary is left out last."""
        over, dropped = self._excess(), 0
        carried = [unit for unit in self._older if has_instructions(unit[0].message)]
        self._instructions = carried
        self._older = [unit for unit in self._older if unit not in carried]
        first = self._older[0][0].message if self._older else None
        summary = int(isinstance(first, NoteMessage) and first.covers > 0)
        while over > 0 and self._older:
            start = summary if len(self._older) > summary else 0
            end = start + 1
            while end < len(self._older) and not begins_turn(self._older[end][0].message):
                end += 1
            gone = [part.message for unit in self._older[start:end] for part in unit]
            del self._older[start:end]
            over -= self._counts.of(gone)
            dropped += len(gone)
        self._note_dropped(dropped, "of earlier exchanges")

    def _drop_older_replies(self) -> None:
        over, dropped = self._excess(), 0
        kept: list[list[_Part]] = []
        for unit in self._run:
            first = unit[0].message
            stays = isinstance(first, UserMessage) or has_instructions(first)
            if over > 0 and not stays:
                over -= self._tokens(unit)
                dropped += len(unit)
            else:
                kept.append(unit)
        self._run = kept
        self._note_dropped(dropped, "of the current run")

    def _note_dropped(self, dropped: int, description: str) -> None:
        if dropped:
            self.left_out += dropped
            self.changes.append(f"{dropped} {_plural(dropped, 'message')} {description} left out")

    def _drop_instructions(self) -> None:
        """Leave out the instruction files, since the question would not fit with them."""
        dropped = 0
        for name in ("_instructions", "_older", "_run", "_newest"):
            units: list[list[_Part]] = getattr(self, name)
            kept = [unit for unit in units if not has_instructions(unit[0].message)]
            dropped += len(units) - len(kept)
            setattr(self, name, kept)
        self.left_out += dropped
        if dropped:
            self.changes.append("instruction files left out")

    def _shorten_older_results(self) -> None:
        shortened, over = 0, self._excess()
        for unit in self._run:
            if over <= 0:
                break
            before = self._tokens(unit)
            shortened += self._shorten(unit, _OLD_RESULT_TOKENS)
            over -= before - self._tokens(unit)
        if shortened:
            self.changes.append(f"{shortened} older tool {_plural(shortened, 'result')} shortened")

    def _halve_newest_results(self) -> None:
        self._shorten_newest(self._budget // 2)

    def _squeeze_newest_results(self) -> None:
        """Shorten the results of the newest reply until the prompt fits.

        A shortened result contains a notice, which needs tokens too. Therefore one step may not
        suffice.
        """
        together = self._counts.of(self._newest_results()) - self._excess()
        self._shorten_newest(together)
        while self._excess() > 0 and together > 0:
            together -= max(_MIN_RESULT_TOKENS, together // 8)
            self._shorten_newest(together)

    def _shorten_newest(self, together: int) -> None:
        """Shorten the results of the newest reply so that they take `together` tokens."""
        count = max(1, len(self._newest_results()))
        each = max(_MIN_RESULT_TOKENS, together // count - MESSAGE_TOKENS - CALL_TOKENS)
        reported = "newest tool results shortened"
        shortened = sum(self._shorten(unit, each) for unit in self._newest)
        if shortened and reported not in self.changes:
            self.changes.append(reported)

    def _newest_results(self) -> list[Message]:
        return [
            part.message
            for unit in self._newest
            for part in unit
            if isinstance(part.message, ToolMessage)
        ]

    def _tokens(self, unit: Sequence[_Part]) -> int:
        return self._counts.of([part.message for part in unit])

    def _shorten(self, unit: Sequence[_Part], limit: int) -> int:
        """Shorten the results in `unit` to `limit` tokens each. Returns the number of changes."""
        shortened = 0
        for part in unit:
            if isinstance(message := part.message, ToolMessage):
                content = fit_message(message.content, limit)
                if content != message.content and len(content) < len(message.content):
                    part.message = replace(message, content=content)
                    shortened += 1
        return shortened

    def _drop_context(self) -> None:
        reported = "automatic context omitted"
        for part in (part for unit in (*self._user, *self._run, *self._newest) for part in unit):
            if isinstance(message := part.message, UserMessage) and message.context:
                part.message = replace(message, context="")
                if reported not in self.changes:
                    self.changes.append(reported)


def _decision(part: _Part, *, kept: bool, images: bool) -> Decision:
    sent, original = part.message, part.original
    if not kept:
        return Decision(part.position, original, None, Omission.SPACE)
    shortened = sent != original
    if isinstance(sent, UserMessage) and isinstance(original, UserMessage):
        if sent.images != original.images and not images:
            return Decision(part.position, original, sent, Omission.IMAGES)
        shortened = (sent.context, sent.images) != (original.context, original.images)
    return Decision(part.position, original, sent, Omission.SPACE if shortened else None)


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
