"""The demands of an endpoint on the history that it receives."""

import re
import string
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from urllib.parse import urlsplit

from treadle.config.model import ProviderSettings

ALPHANUMERIC = string.ascii_letters + string.digits
_FILL = 16
"""The number of characters after the prefix of a new id, if the rule does not set a length."""


@dataclass(frozen=True, slots=True)
class IdRule:
    """The call ids that an endpoint accepts: their prefix, their characters, their length.

    Most servers accept the default. It allows 40 characters, which is OpenAI's limit. It allows
    dots and colons, since some models use them in ids and want these ids back.
    """

    characters: str = ALPHANUMERIC + "_-.:"
    least: int = 1
    most: int = 40
    prefix: str = ""

    def accepts(self, call_id: str) -> bool:
        """Whether the endpoint accepts this id."""
        return (
            self.least <= len(call_id) <= self.most
            and call_id.startswith(self.prefix)
            and set(call_id[len(self.prefix) :]) <= set(self.characters)
        )

    def new(self, seed: str) -> str:
        """Return an id that the endpoint accepts. The same seed gives the same id."""
        letters = [each for each in self.characters if each in ALPHANUMERIC]
        letters = letters or list(self.characters)
        prefix = self.prefix or ("call_" if self._has_room_for("call_") else "")
        length = max(self.least, min(self.most, len(prefix) + _FILL)) - len(prefix)
        number = int.from_bytes(blake2b(seed.encode("utf-8", "replace")).digest())
        made = []
        for _ in range(length):
            number, position = divmod(number, len(letters))
            made.append(letters[position])
        return prefix + "".join(made)

    def _has_room_for(self, prefix: str) -> bool:
        return set(prefix) <= set(self.characters) and self.most >= len(prefix) + _FILL


PLAIN_IDS = IdRule(ALPHANUMERIC + "_-")
"""The rule for ids that Anthropic, Bedrock and OpenAI accept."""

NINE_LETTERS = IdRule(ALPHANUMERIC, 9, 9)
"""The only form of ids that Mistral accepts: nine letters or digits."""


class MissingText(StrEnum):
    """The value that is sent as the text of a reply that has only tool calls."""

    NULL = "null"
    EMPTY = "empty"
    FILLER = "filler"


class Reasoning(StrEnum):
    """The demand of an endpoint on the reasoning in earlier replies."""

    OWN = "own"
    """The endpoint gets the reasoning of its own model, but not of other models."""
    NEVER = "never"
    """The endpoint gets no reasoning."""
    REQUIRED = "required"
    """Each reply needs the reasoning field, which may be empty."""
    FILLED = "filled"
    """Each reply needs the reasoning field, which must not be empty."""


@dataclass(frozen=True, slots=True)
class Strictness:
    """The demands of an endpoint on a history.

    The defaults are the demands of OpenAI's protocol. `alternating` endpoints need alternating
    roles of user and assistant, and a reply after each tool result. `single_calls` endpoints accept
    one tool call in a reply. `named_results` endpoints need the name of the tool in each result.
    `call_signatures` endpoints need a thought signature in the first tool call of each reply, even
    if another model made the reply. `refused_fields` are names of fields that the endpoint does not
    accept back.
    """

    call_ids: IdRule = IdRule()
    alternating: bool = False
    system_role: bool = True
    single_calls: bool = False
    tools: bool = True
    named_results: bool = False
    missing_text: MissingText = MissingText.NULL
    reasoning: Reasoning = Reasoning.OWN
    reasoning_field: str = "reasoning_content"
    refused_fields: frozenset[str] = frozenset()
    call_signatures: bool = False


_MISTRAL = Strictness(call_ids=NINE_LETTERS, alternating=True)
_KNOWN = (
    (re.compile(r"(^|\.)mistral\.ai$"), _MISTRAL),
    (re.compile(r"(^|\.)anthropic\.com$"), Strictness(call_ids=PLAIN_IDS)),
)
"""Hosts with documented demands."""

_ID_SETTINGS = {"any": IdRule(), "plain": PLAIN_IDS, "nine": NINE_LETTERS}


def strictness_of(base_url: str, settings: ProviderSettings) -> Strictness:
    """Return the demands of an endpoint that are known from its host or from the settings."""
    host = urlsplit(base_url).hostname or ""
    known = next((each for pattern, each in _KNOWN if pattern.search(host)), Strictness())
    said = settings.model_fields_set
    return Strictness(
        call_ids=_ID_SETTINGS[settings.call_ids] if "call_ids" in said else known.call_ids,
        alternating=(
            settings.alternating_roles if "alternating_roles" in said else known.alternating
        ),
        missing_text=MissingText(settings.empty_content),
        reasoning=Reasoning.OWN if settings.echo_reasoning else Reasoning.NEVER,
    )
