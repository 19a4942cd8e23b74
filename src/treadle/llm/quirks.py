"""What an endpoint taught while it was asked: each deviation is learnt once and then kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.config.model import ProviderSettings
from treadle.llm.assembler import ECHOED_FIELDS
from treadle.llm.faults import FaultKind, ProviderError

_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""The two names of the limit of a reply; newer models of OpenAI refuse the first."""


@dataclass(slots=True)
class Quirks:
    """How one endpoint wants to be asked: as set at first, then as its refusals say.

    Kept as long as the model object, so a session meets each refusal once.
    """

    empty_content: str | None
    echo_reasoning: bool
    limit_name: str
    tools_refused: bool = False
    stream_options: bool = True
    _switched: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, provider: str, settings: ProviderSettings) -> "Quirks":
        """What the settings say of a provider that has taught nothing yet."""
        return cls(
            empty_content="" if settings.empty_content == "empty" else None,
            echo_reasoning=settings.echo_reasoning,
            limit_name=_LIMIT_NAMES[provider == "openai"],
        )

    def learn(
        self, error: ProviderError, payload: Mapping[str, Any], *, strict: bool
    ) -> str | None:
        """The change that the refusal of `payload` asks for, in words; None where it asks for none.

        `strict` keeps the tools in whatever comes. Preferences are never given up: they may say
        who must not see the prompt.
        """
        if error.kind is FaultKind.NO_TOOLS:
            if strict or "tools" not in payload:
                return None
            self.tools_refused = True
            return "asking without tools; earlier results are told as text"
        if error.status not in (400, 422):
            return None
        return self._parameter(error.body, payload) or self._message(error.body, payload)

    def _parameter(self, said: str, payload: Mapping[str, Any]) -> str | None:
        if "stream_options" in payload and _names(said, "stream_options"):
            self.stream_options = False
            return "asking without stream_options; tokens may stay unknown"
        if self.limit_name in payload and _names(said, self.limit_name) and self._first("limit"):
            self.limit_name = _LIMIT_NAMES[self.limit_name == _LIMIT_NAMES[0]]
            return f"the limit of the reply is sent as {self.limit_name}"
        return None

    def _message(self, said: str, payload: Mapping[str, Any]) -> str | None:
        messages: list[dict[str, Any]] = payload["messages"]
        echoed = {name for message in messages for name in ECHOED_FIELDS if name in message}
        if self.echo_reasoning and any(_names(said, name) for name in echoed):
            self.echo_reasoning = False
            return "reasoning is not sent back"
        textless = any("tool_calls" in message and not message["content"] for message in messages)
        if textless and "content" in said.lower() and self._first("content"):
            self.empty_content = "" if self.empty_content is None else None
            form = "null" if self.empty_content is None else "an empty string"
            return f"missing text is sent as {form}"
        return None

    def _first(self, quirk: str) -> bool:
        """Whether this is the first switch of that kind: the second would only switch back."""
        first = quirk not in self._switched
        self._switched.add(quirk)
        return first


def _names(said: str, name: str) -> bool:
    """Whether a refusal names the field."""
    return re.search(rf"\b{name}\b", said) is not None
