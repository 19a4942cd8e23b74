"""Detectors of `Layer.SIGNALS` for the status, the events, the codes and the reply of a span."""
# ruff: noqa: RUF001  (typographic apostrophes)

import re
from collections.abc import Iterator
from dataclasses import replace

from treadle.diagnosis.detectors.failure_words import OUR_KINDS
from treadle.diagnosis.detectors.finding import (
    QUOTE_CHARACTERS,
    Detector,
    Hit,
    Kind,
    Layer,
    Severity,
    word_set,
)
from treadle.diagnosis.detectors.line_reports import http_severity
from treadle.diagnosis.detectors.tool_calls import arguments_hit, call_hits, offered_tools
from treadle.diagnosis.field_paths import step, text_at
from treadle.diagnosis.span_messages import Message, Reading, Role
from treadle.spans.span import JsonValue, Span, SpanKind, SpanStatus
from treadle.traces.fencing import inline

STATUS = Detector("status", 2, Layer.SIGNALS)
EVENTS = Detector("exception-event", 2, Layer.SIGNALS)
CODES = Detector("status-code", 1, Layer.SIGNALS)
FINISH = Detector("finish-reason", 1, Layer.SIGNALS)
REPLY = Detector("reply", 1, Layer.SIGNALS)
REFUSAL = Detector("refusal", 1, Layer.SIGNALS)

_EXCEPTION_KEYS = ("exception.message", "exception.type", "exception.stacktrace")
_CODE_KEYS = (
    "http.response.status_code",
    "http.status_code",
    "rpc.grpc.status_code",
    "error.status_code",
)
_FINISH_KEYS = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "ai.response.finishReason",
    "gen_ai.completion.0.finish_reason",
    "llm.response.finish_reason",
    "llm.finish_reason",
)
_ENDS = {
    Kind.TRUNCATED: "length max_tokens max_output_tokens model_length incomplete max_length",
    Kind.FILTERED: (
        "content_filter content_filtered safety recitation blocklist prohibited_content spii "
        "guardrail_intervened image_safety language"
    ),
    Kind.PROVIDER_ERROR: "error failed malformed_function_call other_error network_error",
    Kind.REFUSAL: "refusal",
}
_KIND_OF_END = {word: kind for kind, words in _ENDS.items() for word in words.split()}
_SAID_OF_END = {
    Kind.TRUNCATED: (Severity.MEDIUM, "The reply was cut at its length limit"),
    Kind.FILTERED: (Severity.HIGH, "A content filter stopped the reply"),
    Kind.PROVIDER_ERROR: (Severity.HIGH, "The provider ended the reply early"),
    Kind.REFUSAL: (Severity.MEDIUM, "The model refused"),
}
_LIMITS = word_set(
    "length turn_limit tool_call_limit token_limit cost_limit time_limit repeated_calls "
    "unknown_tools invalid_calls"
)
_REFUSAL_CHARACTERS = 600
_REFUSES = re.compile(
    r"\s*(?:(?:i(?:'|’)?m|i am|we(?:'|’)re) (?:very |so |really )?sorry[,.]? (?:but )?"
    r"|sorry[,.]? (?:but )?"
    r"|unfortunately,? |i apologi[sz]e,? (?:but )?|as an ai(?: language model| assistant)?,? "
    r"|no[,.] )?"
    r"(?:i|we) ?(?:(?:can(?:'|’)?t|cannot|can not|won(?:'|’)t|will not|must decline to"
    r"|(?:'|’)?m (?:not able|unable) to|am (?:not able|unable) to|(?:'|’)?m not (?:going"
    r"|comfortable) to"
    r"|have to decline|do not feel comfortable|don(?:'|’)t feel comfortable|need to decline)"
    r"(?: to)?,? ?(?:help(?:ing)?(?: you)? (?:with|to|plan|create|make|write|build)|assist"
    r"|comply|fulfil"
    r"|provid(?:e|ing) (?:that|this|instructions|guidance|information on how|advice on how|help)"
    r"|support (?:that|this)|do that|engage|generate (?:that|this|content)|writ(?:e|ing) (?:that"
    r"|this|content)"
    r"|creat(?:e|ing) (?:that|this|content)|continue with (?:that|this)|answer (?:that|this)"
    r"|discuss (?:that|this)"
    r"|participate|share (?:that|this|instructions)|with (?:that|this))"
    r"|(?:'|’)m sorry,? but no\b|decline\b|refuse\b)"
    r"|\s*(?:es tut mir leid|tut mir leid),? (?:aber )?(?:dabei|das|ich) (?:kann|darf)"
    r"|\s*je suis désolée?,? mais je ne peux pas|\s*lo siento,? pero no puedo"
    r"|\s*(?:desculpe|lamento),? mas não posso|\s*(?:抱歉|对不起).{0,10}(?:不能|无法)"
    r"|\s*(?:申し訳|すみません).{0,20}(?:できません|お手伝い)",
    re.IGNORECASE,
)


def hits(reading: Reading) -> Iterator[Hit]:
    """Yield the faults of replies, arguments, stopped runs and empty retrievals."""
    span = reading.span
    if span.kind is SpanKind.MODEL:
        yield from _reply_hits(reading)
    elif span.kind is SpanKind.TOOL and span.input:
        malformed = arguments_hit(span.input, "input", next(iter(reading.texts)).tool)
        yield from filter(None, [malformed])
    elif span.kind is SpanKind.RUN:
        yield from _stopped(span)
    elif span.kind is SpanKind.RETRIEVAL:
        yield from _nothing_retrieved(span)


def failures(span: Span) -> list[Hit]:
    """Return the failure of a span as a list of at most one hit.

    A cancelled call has no failure. A denied call is reported by its status. For any other span,
    the last recorded exception is the failure. Without an exception, an error status is the
    failure. If the status is not an error either, a status code in the attributes is the failure.
    """
    if span.status is SpanStatus.CANCELLED:
        return []
    exceptions = list(_exceptions(span))
    if span.status is SpanStatus.ERROR:
        found = exceptions[-1] if exceptions else _status(span)
        return [_by_guardrail(found) if _is_guardrail(span) else found]
    if span.status is SpanStatus.DENIED:
        message = sentence(f"The call was not allowed{_because(span)}")
        at, end = ("error", None) if span.error else ("status", None)
        return [Hit(STATUS, Kind.DENIED, Severity.LOW, 1.0, message, at, 0, end)]
    return exceptions[-1:] or list(_codes(span))


def sentence(text: str) -> str:
    """Return `text` with a full stop, unless it ends with a quoted sentence."""
    return text if text.endswith(('."', '!"', '?"')) else f"{text}."


def _because(span: Span) -> str:
    return f": {inline(span.error)}" if span.error else ""


def _status(span: Span) -> Hit:
    at = "error" if span.error else "status"
    message = sentence(f"The span ended with an error{_because(span)}")
    kind = span.attributes.get("error.type") if span.kind is SpanKind.TOOL else None
    severity = OUR_KINDS.get(kind, Severity.HIGH) if isinstance(kind, str) else Severity.HIGH
    return Hit(STATUS, Kind.STATUS, severity, 1.0, message, at)


def _exceptions(span: Span) -> Iterator[Hit]:
    ended_well = span.status is SpanStatus.OK
    for number, event in enumerate(span.events):
        keys = [key for key in _EXCEPTION_KEYS if _text_of(event.attributes.get(key))]
        if event.name != "exception" and not keys:
            continue
        where = step("events", number)
        path = step(f"{where}.attributes", keys[0]) if keys else f"{where}.name"
        raised = _text_of(event.attributes.get("exception.type")).rpartition(".")[2]
        name = f" {raised}" if raised.isidentifier() else ""
        message_text = f": {inline(str(event.attributes[keys[0]]))}" if keys else ""
        message = sentence(f"The span ended with the exception{name}{message_text}")
        if ended_well:
            message = sentence(f"The span recorded the exception{name}{message_text}")
            message = f"{message} Its status is ok."
        yield Hit(
            EVENTS,
            Kind.EXCEPTION,
            Severity.MEDIUM if ended_well else Severity.HIGH,
            0.7 if ended_well else 1.0,
            message,
            path,
        )


def _text_of(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


_GUARDRAIL = re.compile(r"guardrail|tripwire", re.IGNORECASE)


def _is_guardrail(span: Span) -> bool:
    """Return whether the type of a span's failure is that of a guardrail."""
    types = [span.attributes.get("error.type")]
    types += [event.attributes.get("exception.type") for event in span.events]
    return any(_GUARDRAIL.search(_text_of(each)) for each in types)


def _by_guardrail(hit: Hit) -> Hit:
    """Return `hit` as a stop of low severity, since a guardrail stops a run intentionally."""
    message = f"A guardrail stopped it. {hit.message}"
    return replace(hit, kind=Kind.STOPPED, severity=Severity.LOW, message=message)


def _codes(span: Span) -> Iterator[Hit]:
    for key in _CODE_KEYS:
        code = _number(span.attributes.get(key))
        if code is None:
            continue
        path = step("attributes", key)
        if key == "rpc.grpc.status_code" and 1 <= code <= 16:
            message = f"The call ended with gRPC status {code}."
            yield Hit(CODES, Kind.HTTP_STATUS, Severity.HIGH, 0.95, message, path)
            return
        if 400 <= code <= 599:
            message = f"The answer had HTTP status {code}."
            yield Hit(CODES, Kind.HTTP_STATUS, http_severity(code), 0.97, message, path)
            return


def _number(value: JsonValue) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 3:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _stopped(span: Span) -> Iterator[Hit]:
    reason = span.attributes.get("treadle.stop_reason")
    if isinstance(reason, str) and reason in _LIMITS:
        message = f"The run was ended before its answer: {reason.replace('_', ' ')}."
        path = step("attributes", "treadle.stop_reason")
        yield Hit(FINISH, Kind.STOPPED, Severity.MEDIUM, 0.95, message, path)


def _nothing_retrieved(span: Span) -> Iterator[Hit]:
    for path, value in (
        (
            step("attributes", "treadle.retrieval.sources"),
            span.attributes.get("treadle.retrieval.sources"),
        ),
        ("output", span.output),
    ):
        if value in ([], (), "", "[]", "{}", "null"):
            message = "The retrieval found nothing."
            yield Hit(REPLY, Kind.EMPTY_RESULT, Severity.LOW, 0.9, message, path)
            return


def _reply_hits(reading: Reading) -> Iterator[Hit]:
    span = reading.span
    if reading.error_path is not None:
        message_text = "The provider answered with an error instead of a reply."
        message_path = step(reading.error_path, "message")
        path = message_path if text_at(span, message_path) else reading.error_path
        yield Hit(REPLY, Kind.PROVIDER_ERROR, Severity.HIGH, 0.97, message_text, path)
        return
    ended = list(_finish_hits(reading))
    yield from ended
    offered = offered_tools(span) if any(message.calls for message in reading.reply) else {}
    for message in reading.reply:
        for call in message.calls:
            yield from call_hits(call, offered)
        if not any(hit.kind in {Kind.REFUSAL, Kind.FILTERED} for hit in ended):
            yield from _refusal(message)
    if span.status is SpanStatus.OK and not ended and _is_empty(reading):
        path = "output" if span.output is not None else "status"
        yield Hit(
            REPLY,
            Kind.EMPTY_REPLY,
            Severity.MEDIUM,
            0.8,
            "The model gave neither text nor calls.",
            path,
            0,
            0 if path == "output" and not span.output else None,
        )


def _is_empty(reading: Reading) -> bool:
    if reading.span.output is None:
        return False  # the output was not recorded
    if not reading.reply:
        return reading.span.output.strip() in {"", "[]", "{}", "null", '""'}
    return not any(
        message.calls or message.refusal or any(text.text.strip() for text in message.texts)
        for message in reading.reply
    )


def _finish_hits(reading: Reading) -> Iterator[Hit]:
    finish_paths: list[str] = []
    for key in _FINISH_KEYS:
        value = reading.span.attributes.get(key)
        path = step("attributes", key)
        if isinstance(value, str):
            finish_paths.append(path)
        elif isinstance(value, list | tuple):
            finish_paths += [step(path, number) for number in range(min(len(value), 20))]
    finish_paths += [message.finish for message in reading.reply if message.finish]
    seen: set[Kind] = set()
    for path in finish_paths:
        reason = text_at(reading.span, path) or ""
        kind = _KIND_OF_END.get(reason.strip().lower().replace("-", "_"))
        if kind is not None and kind not in seen:
            seen.add(kind)
            severity, message_text = _SAID_OF_END[kind]
            yield Hit(FINISH, kind, severity, 1.0, f"{message_text} ({inline(reason)}).", path)


def _refusal(message: Message) -> Iterator[Hit]:
    if message.refusal is not None:
        message_text = "The model says that it refuses."
        yield Hit(REFUSAL, Kind.REFUSAL, Severity.MEDIUM, 1.0, message_text, message.refusal)
        return
    if message.role is not Role.ASSISTANT or message.calls:
        return
    for text in message.texts:
        if len(text.text) <= _REFUSAL_CHARACTERS and (found := _REFUSES.match(text.text)):
            message_text = sentence(f"The model refuses: {inline(text.text)}")
            end = min(len(text.text), max(found.end(), QUOTE_CHARACTERS))
            yield Hit(REFUSAL, Kind.REFUSAL, Severity.MEDIUM, 0.85, message_text, text.path, 0, end)
            return
