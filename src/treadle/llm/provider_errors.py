"""The failures of providers. Each has a kind, a message, and states whether a retry may help."""

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import StrEnum
from urllib.parse import urlsplit

from treadle.errors import ExitStatus, TreadleError
from treadle.llm.endpoint import Endpoint
from treadle.llm.error_texts import Window, is_overflow, read_window, says_no_images, says_no_tools
from treadle.secrets import redact

RETRY_AFTER_LIMIT = 300.0
"""The longest wait in seconds that Treadle accepts from a server."""

_DETAIL_LIMIT = 400
"""The longest quote of a provider's text in a message, in characters."""


class FaultKind(StrEnum):
    """The kinds of provider failures."""

    CONNECTION = "connection"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    INCOMPLETE = "incomplete"
    PROTOCOL = "protocol"
    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    PAYMENT = "payment"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    UNKNOWN_MODEL = "unknown_model"
    NO_TOOLS = "no_tools"
    NO_IMAGES = "no_images"
    CONTEXT_LENGTH = "context_length"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"


class ProviderError(TreadleError):
    """A failure of a provider. `retryable` says whether the same request may succeed later.

    `status` is the HTTP status, or the status that the code in the body means. `retry_after` is the
    wait in seconds that the server asked for. `body` is the provider's text, shortened and without
    secrets. If the prompt was too long, `window` has the numbers of tokens that the provider
    stated.
    """

    exit_status = ExitStatus.PROVIDER

    def __init__(
        self,
        message: str,
        *,
        kind: FaultKind,
        hint: str | None = None,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        body: str = "",
        window: Window | None = None,
    ) -> None:
        super().__init__(redact(message), hint=hint)
        self.kind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.body = redact(body)
        self.window = window


def from_response(
    endpoint: Endpoint, status: int, body: object, headers: Mapping[str, str], now: float
) -> ProviderError:
    """Return the error for a response with an error status or a redirect.

    `now` is the time in Unix seconds. The function uses it to convert a date in Retry-After to a
    wait.
    """
    if 300 <= status < 400:
        return _redirected(endpoint, status, headers.get("location", ""))
    retry_after = parse_retry_after(headers, now)
    return _classify(endpoint, status, *_error_text(body), retry_after)


def _redirected(endpoint: Endpoint, status: int, location: str) -> ProviderError:
    """Return the error for a redirect.

    Treadle does not follow redirects, because the prompt and the API key must not be sent to
    another address.
    """
    try:
        parts = urlsplit(location)
        target = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""
    except ValueError:
        target = ""
    where = quoted(target, 200) if target else "another path"
    return ProviderError(
        (
            f"{endpoint.provider} redirects requests to {where} ({status}), and Treadle does "
            "not follow redirects."
        ),
        kind=FaultKind.PROTOCOL,
        hint=f"If you trust that address, set providers.{endpoint.provider}.base_url to it.",
        status=status,
    )


def from_body(endpoint: Endpoint, body: object) -> ProviderError:
    """Return the error for an error object in a body whose status is 200."""
    text, code = _error_text(body)
    return _classify(endpoint, _status_of(code), text, code, None)


def unreachable(endpoint: Endpoint, reason: str) -> ProviderError:
    """Return the error for a connection that failed or broke before the reply was complete."""
    hint = "Check the network and the address."
    if endpoint.loopback:
        hint = "Start the server, or choose another model with --model."
    message = f"{endpoint.provider} at {endpoint.base_url} cannot be reached ({reason})."
    return ProviderError(message, kind=FaultKind.CONNECTION, hint=hint, retryable=True)


def broken_off(endpoint: Endpoint, reason: str) -> ProviderError:
    """Return the error for a reply that ended before it was complete."""
    return ProviderError(
        f"The reply of {endpoint.provider} is incomplete: {reason}.",
        kind=FaultKind.INCOMPLETE,
        hint="Ask again.",
        retryable=True,
    )


def stalled(endpoint: Endpoint, seconds: float, *, empty: bool = False) -> ProviderError:
    """Return the error for a server that sent no data for `seconds`.

    `empty` means that the server sent data, but the data contained no part of a reply.
    """
    what = "only empty data" if empty else "no data"
    return ProviderError(
        f"{endpoint.provider} sent {what} for {seconds:g} s.",
        kind=FaultKind.STALLED,
        hint=f"Try again, or raise providers.{endpoint.provider}.idle_timeout.",
        retryable=True,
    )


def protocol(endpoint: Endpoint, reason: str, *, retryable: bool = False) -> ProviderError:
    """Return the error for an answer that is not an OpenAI-compatible reply."""
    return ProviderError(
        f"{endpoint.provider} did not send an OpenAI-compatible reply: {reason}.",
        kind=FaultKind.PROTOCOL,
        hint=f"Check that {endpoint.base_url} is the address of its API, including the version.",
        retryable=retryable,
    )


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait, from 0 to `RETRY_AFTER_LIMIT`, or None if no header is valid.

    The function reads the headers `retry-after-ms` and `retry-after`. The latter contains seconds
    or an HTTP date (RFC 9110, section 10.2.3).
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{0,9})?", text, re.ASCII):
            return min(float(text) * scale, RETRY_AFTER_LIMIT)
    text = headers.get("retry-after", "")
    try:
        seconds = parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_LIMIT)


def quoted(text: str, limit: int = 80) -> str:
    """Return the beginning of a server's text in quotes.

    A key that the server echoed is redacted.
    """
    return repr(redact(text[: 8 * limit])[:limit])


def retryable_status(status: int | None, *, asked_to_wait: bool) -> bool:
    """Whether a failure with this status may be temporary.

    A status of None means that the error has no code. `asked_to_wait` means that the server asked
    for a wait, for example with Retry-After.
    """
    if status is None or status >= 500:
        return True
    return status in (408, 409, 429) or (status == 402 and asked_to_wait)


_CODES = (
    (re.compile(r"rate.?limit|too.?many.?requests", re.IGNORECASE), 429),
    (re.compile(r"overload|unavailable", re.IGNORECASE), 503),
    (re.compile(r"time.?out", re.IGNORECASE), 408),
    (re.compile(r"server.?error|internal|upstream", re.IGNORECASE), 500),
    (re.compile(r"quota|billing|credit|payment", re.IGNORECASE), 402),
    (re.compile(r"authentication|api.?key|unauthori[sz]ed", re.IGNORECASE), 401),
    (re.compile(r"permission|forbidden", re.IGNORECASE), 403),
    (re.compile(r"not.?found", re.IGNORECASE), 404),
    (re.compile(r"invalid|context|bad.?request|content.?filter", re.IGNORECASE), 400),
)


def _status_of(code: str | None) -> int | None:
    """Return the HTTP status for a code in a body, or None if the code is unknown."""
    if code is None:
        return None
    if re.fullmatch(r"[1-9]\d\d", code, re.ASCII):
        return int(code)
    return next((status for pattern, status in _CODES if pattern.search(code)), None)


def _error_text(body: object) -> tuple[str, str | None]:
    """Return the text and the code of a provider's error. Providers use many formats."""
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]  # Gemini wraps its errors in a list
    if not isinstance(body, Mapping):
        return _without_markup(str(body or "")), None
    error = body.get("error") or body
    if not isinstance(error, Mapping):
        code = body.get("code") or body.get("status")
        return str(error), None if code is None else str(code)
    text = str(error.get("message") or error.get("detail") or error.get("error") or "")
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        text = f"{text}: {metadata['raw']}"
    if " " in (parameter := str(error.get("param") or "")):  # sometimes a sentence, not a name
        text = f"{text}: {parameter}"
    code = error.get("code") or error.get("status") or error.get("type")
    if not text and code is None and error:  # the text is in an unknown field
        text = json.dumps(error, ensure_ascii=False, default=str)
    return text, None if code is None else str(code)


_MARKUP = re.compile(
    r"<(style|script)\b[^>]*>.{0,20000}?</\1>|<[^<>]{1,2000}>", re.DOTALL | re.IGNORECASE
)


def _without_markup(text: str) -> str:
    """Return the text of an HTML page without its markup. Return other text unchanged.

    Proxies send HTML pages as errors. Only the first 50,000 characters are used.
    """
    text = text[:50_000]
    if not re.match(r"\s*<(?:!doctype|html|head|body|h1|center|\?xml)", text, re.IGNORECASE):
        return text
    return " ".join(_MARKUP.sub(" ", text).split())


def _classify(
    endpoint: Endpoint, status: int | None, text: str, code: str | None, retry_after: float | None
) -> ProviderError:
    # The text is redacted before it is cut, since a key that was cut would not be recognized.
    text = redact(text[: 100 * _DETAIL_LIMIT])
    kind = _kind(status, f"{code or ''} {text}")
    detail = " ".join(text.split())
    if len(detail) > _DETAIL_LIMIT:
        detail = detail[:_DETAIL_LIMIT] + "…"
    message, hint = _sentences(kind, endpoint, status, detail or code or "it gave no reason")
    return ProviderError(
        message,
        kind=kind,
        hint=hint,
        status=status,
        retryable=kind not in _PERMANENT
        and retryable_status(status, asked_to_wait=retry_after is not None),
        retry_after=retry_after,
        body=text[: 4 * _DETAIL_LIMIT],
        window=read_window(text) if kind is FaultKind.CONTEXT_LENGTH else None,
    )


_PERMANENT = (FaultKind.NO_TOOLS, FaultKind.NO_IMAGES, FaultKind.CONTEXT_LENGTH)
"""The kinds of failure that would occur again for the same request, whatever the status is."""

_MAY_REFUSE_TOOLS = (None, 400, 404, 405, 422, 500, 501, 502)
_MAY_OVERFLOW = (None, 400, 404, 413, 422, 429, 500, 501, 502)
"""Statuses with which servers refuse a prompt that is too long.

None means that there is no status. A proxy answers 502 if the server behind it refused the prompt.
"""


def _kind(status: int | None, text: str) -> FaultKind:
    if status in _MAY_REFUSE_TOOLS and says_no_images(text):
        return FaultKind.NO_IMAGES
    if status in _MAY_REFUSE_TOOLS and says_no_tools(text):
        return FaultKind.NO_TOOLS
    if status in _MAY_OVERFLOW and is_overflow(status, text):
        return FaultKind.CONTEXT_LENGTH
    if status is None or status >= 500:
        return FaultKind.SERVER
    if status == 429 and "insufficient_quota" in text:
        return FaultKind.PAYMENT
    return {
        401: FaultKind.AUTHENTICATION,
        402: FaultKind.PAYMENT,
        403: FaultKind.PERMISSION,
        404: FaultKind.UNKNOWN_MODEL,
        408: FaultKind.TIMEOUT,
        409: FaultKind.SERVER,
        429: FaultKind.RATE_LIMIT,
    }.get(status, FaultKind.BAD_REQUEST)


_SENTENCES: dict[FaultKind, tuple[str, str | None]] = {
    FaultKind.AUTHENTICATION: ("refused the key", "Set {key} to a valid key."),
    FaultKind.PERMISSION: ("refused access", "Check what the key in {key} may do."),
    FaultKind.PAYMENT: ("wants payment", "Add credit, or choose another model."),
    FaultKind.RATE_LIMIT: ("limits the rate", "Wait a moment and try again."),
    FaultKind.UNKNOWN_MODEL: (
        "does not know the model {model!r}",
        "List its models with `treadle models list`.",
    ),
    FaultKind.NO_TOOLS: (
        "does not support tool calls with {model!r}",
        "Choose a model that supports tools, or ask with --no-tools.",
    ),
    FaultKind.NO_IMAGES: (
        "does not take images with {model!r}",
        "Send the message without the image, or choose a model that takes images.",
    ),
    FaultKind.CONTEXT_LENGTH: (
        "finds the prompt too long for {model!r}",
        "Set providers.{name}.context_window to the model's window, or start a new session.",
    ),
    FaultKind.SERVER: ("failed", "Try again later, or choose another model."),
    FaultKind.TIMEOUT: ("took too long", "Try again later, or choose another model."),
    FaultKind.BAD_REQUEST: ("refused the request", None),
}


def _sentences(
    kind: FaultKind, endpoint: Endpoint, status: int | None, detail: str
) -> tuple[str, str | None]:
    """Return a sentence about the failure, and a hint or None."""
    what, hint = _SENTENCES[kind]
    names = {
        "name": endpoint.provider,
        "model": endpoint.model,
        "key": endpoint.key_name or f"providers.{endpoint.provider}.api_key_env",
    }
    code = "" if status is None else f" ({status})"
    message = f"{endpoint.provider} {what.format(**names)}{code}: {detail.rstrip('.')}."
    return message, None if hint is None else hint.format(**names)
