"""Refusals by the gateway itself, in the error format of the API that the client uses."""

import json
from collections.abc import Mapping

from treadle.errors import TreadleError
from treadle.gateway.apis import Api


class RefusalError(TreadleError):
    """Raised for a call that is not forwarded.

    `status` is the HTTP status. `code` is a short name of the reason, which a program can test.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        status: int,
        code: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.param = param
        self.headers = dict(headers or {})

    def body(self, api: Api = Api.OPENAI) -> bytes:
        """The body of the answer, in the form of errors of `api`."""
        return json.dumps(self._content(api), ensure_ascii=False).encode("utf-8", "replace")

    def _content(self, api: Api) -> dict[str, object]:
        if api is Api.ANTHROPIC:
            kind = _ANTHROPIC_TYPES.get(self.status, "api_error")
            return {"type": "error", "error": {"type": kind, "message": str(self)}}
        if api is Api.GEMINI:
            status = _GEMINI_STATUSES.get(self.status, "INTERNAL")
            return {"error": {"code": self.status, "message": str(self), "status": status}}
        error = {
            "message": str(self),
            "type": _TYPES.get(self.status, "api_error"),
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}


_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "insufficient_quota",
}
"""OpenAI's error type for each HTTP status."""

_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    415: "invalid_request_error",
    429: "rate_limit_error",
}
"""Anthropic's error type for each HTTP status."""

_GEMINI_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""Gemini's error status for each HTTP status."""
