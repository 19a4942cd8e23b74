"""Finds faults that the structure of a tool result shows, such as an `error` key."""

import re
from collections.abc import Mapping, Sequence

from treadle.diagnosis.detectors.failure_words import OUR_KINDS, kind_of, says_nothing, severity_of
from treadle.diagnosis.detectors.finding import Detector, Hit, Kind, Layer, Severity, word_set
from treadle.diagnosis.detectors.line_reports import http_severity
from treadle.diagnosis.detectors.short_results import empty, is_failure_alone, nothing, status_in
from treadle.diagnosis.detectors.tool_output import OutputTraits
from treadle.diagnosis.field_paths import as_text, parsed, step
from treadle.traces.fencing import inline

RESULTS = Detector("tool-result", 1, Layer.SIGNALS)

_GOOD_FLAGS = ("ok", "success", "succeeded", "successful", "is_success", "isSuccess")
_BAD_FLAGS = ("isError", "is_error", "failed", "has_error", "hasError")
_FLAGS = frozenset((*_GOOD_FLAGS, *_BAD_FLAGS))
_ERRORS = (
    "Error",
    "error",
    "errors",
    "error_message",
    "errorMessage",
    "exception",
    "traceback",
    "stack_trace",
    "stackTrace",
    "errorType",
    "errorCode",
    "faultstring",
    "fault",
    "faultString",
    "errmsg",
)
_EXPLANATIONS = (*_ERRORS, "message", "detail", "details", "reason", "stderr", "title", "msg")
_CODES = ("status_code", "statusCode", "http_status", "httpStatus", "status", "code")
_EXITS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "exitStatus")
_TIMED_OUT = ("timed_out", "timedOut", "timeout_exceeded")
_COUNTS = (
    "failed",
    "failures",
    "errors",
    "failed_count",
    "error_count",
    "errorCount",
    "num_failed",
)
_STATES = ("status", "state", "result", "outcome", "conclusion", "type")
_BAD_STATES = word_set(
    "error errored fail failed failure crashed timeout timed_out timedout exception denied "
    "unauthorized forbidden not_found rejected aborted"
)
_WRAPPERS = ("result", "data", "response", "structuredContent", "body", "output", "payload")
_WRAPPED_DEEP = 2
_TEXTS = ("content", "text", "message", "answer", "value", "contents")
_SIDE = ("type", "role", "annotations", "tool_call_id", "name", "id")
"""Keys that may be next to the text of an answer."""
_FEW = 3
"""The maximum number of keys of an object that only wraps another object."""
_ENVELOPE = frozenset(
    (
        *_EXPLANATIONS,
        *_GOOD_FLAGS,
        *_BAD_FLAGS,
        *_CODES,
        "kind",
        "type",
        "hint",
        "path",
        "field",
        "expected",
        "received",
        "effect",
        "errno",
        "documentation_url",
        "request_id",
        "requestId",
        "__type",
        "description",
        "syscall",
        "v",
        "tool",
        "url",
        "timestamp",
    )
)
"""The keys of an object that only reports a failure."""
_MAX_ELEMENTS = 100
_ENVELOPE_CHARACTERS = 600


def hits(text: str, path: str, traits: OutputTraits) -> list[Hit]:
    """Return the fault that the structure of a tool result shows, as a list of at most one hit."""
    stripped = text.strip()
    value: object = stripped
    if stripped[:1] in ("{", "["):
        try:
            value = parsed(text)
        except ValueError:
            if not is_failure_alone(stripped):
                return []
    failed = _failure(value, path, traits, depth=0) or _alone(value, path)
    if failed is not None:
        return [failed]
    none = None if traits.quiet and not isinstance(value, str) else nothing(value, path)
    if traits.quiet and stripped in {"", "None"}:
        none = None
    return [none] if none else []


def _failure(value: object, path: str, traits: OutputTraits, depth: int) -> Hit | None:
    if isinstance(value, list):
        return _failed_element(value, path, traits)
    if not isinstance(value, Mapping):
        return None
    if traits.shows_file and depth == 0 and not value.keys() <= _ENVELOPE and not _flagged(value):
        return None  # the JSON is the content of a file
    found = (
        _flag(value, path)
        or _error(value, path)
        or _code(value, path)
        or _exit(value, path, traits)
        or _state(value, path)
        or _count(value, path)
        or _envelope(value, path)
        or _diagnostic(value.get("diagnostics"), step(path, "diagnostics"))
        or _mismatches(value.get("detail"), step(path, "detail"))
        or _all_failed(value.get("results"), step(path, "results"))
        or _not_done(value, path)
    )
    if found is None and depth < _WRAPPED_DEEP:
        for key in _WRAPPERS if len(value) > _FEW else value:
            inner = value.get(key)
            if isinstance(inner, str) and inner.lstrip()[:1] == "{":
                inner = _parsed_or_none(inner)
            if isinstance(inner, Mapping):
                found = found or _failure(inner, step(path, key), traits, depth + 1)
    return found


def _alone(value: object, path: str, depth: int = 0) -> Hit | None:
    """Return a hit if a failure is the whole result, or the only text in nested JSON."""
    if isinstance(value, Mapping) and depth <= _WRAPPED_DEEP:
        text_keys = [key for key in value if key not in _SIDE]
        if len(text_keys) == 1 and text_keys[0] in (*_WRAPPERS, *_TEXTS):
            return _alone(value[text_keys[0]], step(path, text_keys[0]), depth + 1)
    if isinstance(value, list) and len(value) == 1 and depth <= _WRAPPED_DEEP:
        return _alone(value[0], step(path, 0), depth + 1)
    if not isinstance(value, str) or not is_failure_alone(value):
        return None
    status = status_in(value)
    severity = severity_of(_named(value)) if status is None else http_severity(status)
    message = f"The tool answered only: {inline(value.strip())}."
    kind = _named(value) or Kind.ERROR if status is None else Kind.HTTP_STATUS
    return Hit(RESULTS, kind, severity, 0.9, message, path)


def _failed_element(value: Sequence[object], path: str, traits: OutputTraits) -> Hit | None:
    if len(value) == 1 and isinstance(value[0], Mapping) and _speaks(value[0], traits):
        inner: object = value[0]
        inner_path = step(path, 0)
        if (
            isinstance(inner, Mapping)
            and inner.get("type") == "text"
            and isinstance(inner.get("text"), str)
        ):
            inner, inner_path = _parsed_or_none(inner["text"]), step(inner_path, "text")
        found = _failure(inner, inner_path, traits, depth=1)
        if found is not None:
            return found
    for number, element in enumerate(value[:_MAX_ELEMENTS]):
        if isinstance(element, Mapping) and _flagged(element):
            return _flag(element, step(path, number))
    return _diagnostic(value, path) or _mismatches(value, path)


def _all_failed(value: object, path: str) -> Hit | None:
    """Return a hit if every element of a list of results has an error."""
    if not isinstance(value, list) or not value:
        return None
    for each in value:
        words = each.get("error") if isinstance(each, Mapping) else None
        if not isinstance(words, str) or not words.strip() or says_nothing(words):
            return None
    return _explained(value[0], step(path, 0), "error", 0.8)


def _speaks(only: Mapping[str, object], traits: OutputTraits) -> bool:
    """Return whether the only element of a list is a message of the tool and not a search match."""
    return not traits.shows or only.get("type") == "text" or only.keys() <= _ENVELOPE


def _mismatches(value: object, path: str) -> Hit | None:
    """Return a hit if `value` is a list of messages of a validator.

    Such a message has a key for the position of the wrong argument.
    """
    if not isinstance(value, list) or not value:
        return None
    for each in value:
        if not isinstance(each, Mapping) or not each.keys() & {"path", "loc", "instancePath"}:
            return None
        if not isinstance(each.get("msg", each.get("message")), str):
            return None
    at = step(step(path, 0), "msg" if "msg" in value[0] else "message")
    return _hit(Kind.INVALID, Severity.HIGH, 0.85, at, "the arguments do not fit")


def _parsed_or_none(text: str) -> object:
    try:
        return parsed(text)
    except ValueError:
        return None


def _flagged(value: Mapping[str, object]) -> bool:
    return not _FLAGS.isdisjoint(value) and (
        any(_is(value.get(key), False) for key in _GOOD_FLAGS)
        or any(_is(value.get(key), True) for key in _BAD_FLAGS)
    )


def _is(value: object, truth: bool) -> bool:
    return value is truth or (isinstance(value, str) and value.lower() == str(truth).lower())


def _flag(value: Mapping[str, object], path: str) -> Hit | None:
    for key in _GOOD_FLAGS:
        if _is(value.get(key), False):
            return _explained(value, path, key, 0.99)
    for key in _BAD_FLAGS:
        if _is(value.get(key), True):
            return _explained(value, path, key, 0.99)
    for key in _TIMED_OUT:
        if value.get(key) is True:
            at, what = step(path, key), "it ran out of time"
            return _hit(Kind.TIMEOUT, Severity.MEDIUM, 0.95, at, what)
    return None


def _error(value: Mapping[str, object], path: str) -> Hit | None:
    for key in _ERRORS:
        inner = value.get(key)
        if isinstance(inner, str):
            is_present = bool(inner.strip()) and not says_nothing(inner)
        else:
            is_present = inner is True or (isinstance(inner, Mapping | list) and bool(inner))
            # An object whose values are all empty, such as {"error": {"email": null}}, is not an
            # error.
            if isinstance(inner, Mapping):
                is_present = any(
                    each not in (None, "", [], {}, False, 0) for each in inner.values()
                )
        if is_present:
            doubtful = any(value.get(flag) is True for flag in _GOOD_FLAGS)
            return _explained(value, path, key, 0.6 if doubtful else 0.97)
    return None


def _code(value: Mapping[str, object], path: str) -> Hit | None:
    for key in _CODES:
        number = value.get(key)
        if isinstance(number, str) and number.isdecimal() and len(number) == 3:
            number = int(number)
        if not isinstance(number, int) or isinstance(number, bool) or not 400 <= number <= 599:
            continue
        if key == "code" and not value.keys() & {"message", "error", "status", "reason", "msg"}:
            continue
        hit = _explained(value, path, key, 0.95)
        return Hit(
            RESULTS,
            Kind.HTTP_STATUS,
            http_severity(number),
            0.95,
            hit.message,
            hit.path,
            hit.start,
            hit.end,
        )
    return None


def _exit(value: Mapping[str, object], path: str, traits: OutputTraits) -> Hit | None:
    for key in _EXITS:
        number = value.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and number != 0:
            output_text = "".join(
                str(value.get(name) or "") for name in ("stdout", "stderr", "output")
            )
            if number == 1 and not output_text.strip() and traits.shows:
                return empty(step(path, key), "it found nothing", 0.8)  # like grep without a match
            message = f"it ended with code {number}"
            return _hit(Kind.EXIT_CODE, Severity.HIGH, 0.97, step(path, key), message)
    return None


def _state(value: Mapping[str, object], path: str) -> Hit | None:
    if any(value.get(flag) is True for flag in _GOOD_FLAGS):
        return None
    for key in _STATES:
        state = value.get(key)
        if not isinstance(state, str) or len(state) > 20:
            continue
        words = re.split(r"[ _-]", state.strip().lower())
        if "_".join(words) in _BAD_STATES or (key == "type" and words[0] == "error"):
            record = "id" in value and not value.keys() & set(_EXPLANATIONS)
            text_keys = value.keys() & set(_EXPLANATIONS) or len(value) <= 3
            if not record and text_keys:
                return _explained(value, path, key, 0.9)
    return None


def _count(value: Mapping[str, object], path: str) -> Hit | None:
    for key in _COUNTS:
        number = value.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and number > 0:
            message = f"{number} failed"
            return _hit(Kind.FAILED_TO, Severity.HIGH, 0.8, step(path, key), message)
    return None


def _envelope(value: Mapping[str, object], path: str) -> Hit | None:
    """Return a hit for an object that has only keys of `_ENVELOPE`, if its text names a failure."""
    if not value or not value.keys() <= _ENVELOPE or any(value.get(key) for key in _GOOD_FLAGS):
        return None
    _, words = _explanation(value, path)
    if not words or len(words) > _ENVELOPE_CHARACTERS or _named(words) is None:
        return None
    return _explained(value, path, next(iter(value)), 0.85)


def _not_done(value: Mapping[str, object], path: str) -> Hit | None:
    """Return a hit for a false flag with a reason, as in `{"created": false, "reason": …}`."""
    if isinstance(value.get("reason"), str) and len(value) <= _FEW:
        for key, flag in value.items():
            if flag is False:
                return _explained(value, path, key, 0.85)
    return None


def _diagnostic(value: object, path: str) -> Hit | None:
    """Return a hit for the first error in a list of diagnostics."""
    if not isinstance(value, list):
        return None
    for number, each in enumerate(value[:_MAX_ELEMENTS]):
        if isinstance(each, Mapping) and isinstance(each.get("message"), str):
            at = step(step(path, number), "message")
            if each.get("severity") in ("error", "fatal", "critical"):
                return _hit(Kind.FAILED_TO, Severity.HIGH, 0.85, at, "it contains an error")
    return None


def _named(words: str) -> Kind | None:
    found = kind_of(words[:_ENVELOPE_CHARACTERS].encode("utf-8", "replace").decode())
    return found[0] if found else None


def _explanation(value: Mapping[str, object], path: str) -> tuple[str, str]:
    """Return the path and text of the best explanation of a failure.

    Without an explanation, return `path` and an empty text.
    """
    for name in _EXPLANATIONS:
        inner = value.get(name)
        inner_path = step(path, name)
        while isinstance(inner, Mapping | list) and inner:
            key = _first_words(inner)
            if isinstance(inner, Mapping) and isinstance(key, str):
                inner_path, inner = step(inner_path, key), inner[key]
            elif isinstance(inner, list):
                inner_path, inner = step(inner_path, 0), inner[0]
            else:
                break
        if isinstance(inner, str) and inner.strip():
            return inner_path, inner
    return path, ""


def _explained(value: Mapping[str, object], path: str, key: str, confidence: float) -> Hit:
    """Return a hit for the failure that `key` shows. The hit quotes the best explanation."""
    at, words = _explanation(value, path)
    at = at if words else step(path, key)
    ours = value.get("kind")
    severity = OUR_KINDS.get(ours) if isinstance(ours, str) and value.get("ok") is False else None
    denied = severity is Severity.LOW
    if severity is None:
        severity = severity_of(_named(words))
    why = f": {inline(words)}" if words else f" ({key}: {inline(as_text(value.get(key)) or '')})"
    return Hit(
        RESULTS,
        Kind.DENIED if denied else Kind.FAILED_RESULT,
        severity,
        confidence,
        f"The tool says that the call failed{why}.",
        at,
    )


def _first_words(value: Mapping[str, object] | Sequence[object]) -> str | None:
    """Return the key of the explanation in an error, or None if the error is not a JSON object."""
    if not isinstance(value, Mapping):
        return None
    named = [key for key in ("message", "text", "detail", "msg", "description") if value.get(key)]
    if named:
        return named[0]
    return next((key for key, inner in value.items() if isinstance(inner, str) and inner), None)


def _hit(
    kind: Kind,
    severity: Severity,
    confidence: float,
    path: str,
    what: str,
) -> Hit:
    return Hit(RESULTS, kind, severity, confidence, f"The tool's result: {what}.", path)
