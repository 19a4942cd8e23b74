"""The quirks of endpoints: deviations from the protocol that are learned from refusals."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.llm.refusals import Meaning, Refusal, changes, meaning
from treadle.llm.strictness import Strictness, strictness_of

_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""The names of the parameter that limits the reply. Newer OpenAI models refuse the first name."""

_MAY_REFUSE = (None, 400, 404, 405, 422, 500, 501, 502)
"""Statuses of a request that a server may have refused because of its form.

Some servers answer 500 when a chat template fails. A proxy answers 502 with the text of the server
behind it. None means that the error has no code.
"""

Payload = Mapping[str, Any]


class LearnedQuirks:
    """The quirks that this process has learned, so that the next session need not learn them.

    One quirk is not kept: that an endpoint takes no tools. A router may later choose a server that
    takes them.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Quirks] = {}

    def of(self, endpoint: Endpoint) -> "Quirks":
        """Return a copy of the quirks of the endpoint. The caller may change the copy."""
        kept = self._kept.get(_identity(endpoint))
        return kept.copy() if kept is not None else Quirks.of(endpoint)

    def keep(self, endpoint: Endpoint, quirks: "Quirks") -> None:
        """Remember the quirks of the endpoint."""
        self._kept[_identity(endpoint)] = quirks.copy()


def _identity(endpoint: Endpoint) -> str:
    settings = endpoint.settings.model_dump_json()
    return json.dumps([endpoint.provider, endpoint.model, endpoint.base_url, settings])


@dataclass(slots=True)
class Quirks:
    """The form of requests that one endpoint accepts.

    The form is documented, configured, or learned from refusals. The endpoint refuses only one
    request of a session for each reason, since the next request has the new form.
    """

    strictness: Strictness
    limit_name: str
    stream_options: bool = True
    _tried: set[Strictness] = field(default_factory=set)
    _limit_switched: bool = False

    @classmethod
    def of(cls, endpoint: Endpoint) -> "Quirks":
        """Return the quirks of an endpoint that has refused nothing."""
        return cls(
            strictness=strictness_of(endpoint.base_url, endpoint.settings),
            limit_name=_LIMIT_NAMES[endpoint.provider == "openai"],
        )

    def copy(self) -> "Quirks":
        """Return a copy of the quirks for another session. The copy offers tools again."""
        tools = replace(self.strictness, tools=True)
        return replace(self, strictness=tools, _tried=set(self._tried))

    def learn(
        self,
        error: ProviderError,
        payload: Payload,
        rebuild: Callable[[], Payload],
        *,
        strict: bool,
    ) -> str | None:
        """Learn from the refusal of `payload`.

        Returns a description of the change, or None if nothing was changed. `rebuild` builds the
        payload again. A change that does not alter the payload is discarded, since the refusal must
        have another cause. If `strict` is True, tools are always offered. No change removes the
        preferences for a router, since they may exclude providers that must not see the prompt.
        """
        if error.kind is FaultKind.NO_TOOLS:
            if strict or "tools" not in payload:
                return None
            self.strictness = replace(self.strictness, tools=False)
            return "trying without tools; earlier results are sent as text"
        if error.status not in _MAY_REFUSE or error.kind is FaultKind.CONTEXT_LENGTH:
            return None
        return self._parameter(error.body, payload) or self._history(
            error.body, payload, rebuild, strict=strict
        )

    def _parameter(self, error_text: str, payload: Payload) -> str | None:
        if "stream_options" in payload and meaning(error_text, "stream_options"):
            self.stream_options = False
            return "trying without stream_options; token counts may be unknown"
        name = self.limit_name
        other = _LIMIT_NAMES[name == _LIMIT_NAMES[0]]
        refused = meaning(error_text, name) in (Meaning.REFUSED, Meaning.UNCLEAR) or meaning(
            error_text, other
        )
        if name in payload and refused and not self._limit_switched:
            if meaning(error_text, name) is None or re.search("too (?:large|high|big)", error_text):
                return None
            self._limit_switched = True
            self.limit_name = other
            return f"the maximum tokens of the reply are sent as {other}"
        return None

    def _history(
        self, error_text: str, payload: Payload, rebuild: Callable[[], Payload], *, strict: bool
    ) -> str | None:
        """Apply the first change that alters the history and that was not tried before.

        Returns the description of the change, or None if no change helps.
        """
        before = self.strictness
        self._tried.add(before)
        for strictness, change in changes(Refusal(error_text, before, payload["messages"])):
            if strictness in self._tried or (strict and not strictness.tools):
                continue
            self.strictness = strictness
            if rebuild()["messages"] != payload["messages"]:
                return change
        self.strictness = before
        return None
