"""Refusals by the gateway itself, in the error format of OpenAI."""

import json
from collections.abc import Mapping

from treadle.errors import TreadleError


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

    def body(self) -> bytes:
        """The body of the answer, `{"error": {"message", "type", "param", "code"}}`."""
        error = {
            "message": str(self),
            "type": _TYPES.get(self.status, "api_error"),
            "param": self.param,
            "code": self.code,
        }
        return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")


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
