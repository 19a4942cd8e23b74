"""Endpoints that are strict about a history, each with its own rules and messages.

`RULES` are the known demands by name. A rule returns the fault in the messages of a request, or
nothing. `strict_about` is a reply of the fake provider that refuses what breaks the given rules and
answers everything else.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.fakes.provider import RecordedRequest
from tests.fakes.replies import Answer, Script

Messages = Sequence[Mapping[str, Any]]
Rule = Callable[[Messages], str | None]


def _calls(messages: Messages) -> list[Mapping[str, Any]]:
    return [call for message in messages for call in message.get("tool_calls", ())]


def _replies(messages: Messages) -> list[Mapping[str, Any]]:
    return [message for message in messages if message["role"] == "assistant"]


def ids_like(pattern: str) -> Rule:
    """Call ids match a regular expression and are unique."""
    accepted = re.compile(pattern)

    def rule(messages: Messages) -> str | None:
        ids = [str(call["id"]) for call in _calls(messages)]
        odd = [each for each in ids if not accepted.fullmatch(each)]
        if len(set(ids)) < len(ids):
            return "duplicate id"
        return odd[0] if odd else None

    return rule


def roles_alternate(messages: Messages) -> str | None:
    """Like templates of Mistral models: calls and results do not count."""
    counted = [
        message["role"]
        for message in messages
        if message["role"] in ("user", "assistant") and not message.get("tool_calls")
    ]
    wrong = any((role == "user") != (place % 2 == 0) for place, role in enumerate(counted))
    return "the roles do not alternate" if wrong else None


def reply_after_tool(messages: Messages) -> str | None:
    """Like Mistral's server."""
    for before, message in pairwise(messages):
        if before["role"] == "tool" and message["role"] == "user":
            return "user after tool"
        if before["role"] == message["role"] != "tool":
            return f"{message['role']} twice"
    return None


def begins_with_user(messages: Messages) -> str | None:
    """The first message after the instructions is the user's."""
    first = next((m["role"] for m in messages if m["role"] != "system"), None)
    return None if first == "user" else f"begins with {first}"


def ends_with_question(messages: Messages) -> str | None:
    """The model speaks next."""
    last = messages[-1]["role"]
    return None if last in ("user", "tool") else f"ends with {last}"


def one_leading_system(messages: Messages) -> str | None:
    """At most one system message, at the start."""
    places = [place for place, message in enumerate(messages) if message["role"] == "system"]
    return None if places in ([], [0]) else f"system at {places}"


def no_system(messages: Messages) -> str | None:
    """Like templates of Gemma."""
    return "a system message" if any(m["role"] == "system" for m in messages) else None


def single_calls(messages: Messages) -> str | None:
    """Like templates of Llama 3."""
    return "parallel calls" if any(len(m.get("tool_calls", ())) > 1 for m in messages) else None


def named_results(messages: Messages) -> str | None:
    """Like Gemini's first compatible interface."""
    unnamed = any(m["role"] == "tool" and not m.get("name") for m in messages)
    return "a result without name" if unnamed else None


def text_content(messages: Messages) -> str | None:
    """Content is text."""
    return None if all(isinstance(m.get("content"), str) for m in messages) else "content is null"


def null_content(messages: Messages) -> str | None:
    """A missing text is null."""
    return "content is empty" if any(m.get("content") == "" for m in messages) else None


def filled_content(messages: Messages) -> str | None:
    """Like Bedrock: no text is blank or missing."""
    blank = any(not str(m.get("content") or "").strip() for m in messages)
    return "content is blank" if blank else None


def has_reasoning(field: str = "reasoning_content", *, filled: bool = False) -> Rule:
    """Like DeepSeek and Kimi: each reply has the field, as text."""

    def rule(messages: Messages) -> str | None:
        texts = [message.get(field) for message in _replies(messages)]
        missing = any(not isinstance(text, str) or (filled and not text.strip()) for text in texts)
        return f"{field} is missing" if missing else None

    return rule


def no_field(*fields: str) -> Rule:
    """Like Mistral, Groq and Cerebras: none of those fields on replies or calls."""

    def rule(messages: Messages) -> str | None:
        sources = [*_replies(messages), *_calls(messages)]
        return next((f for f in fields if any(f in source for source in sources)), None)

    return rule


def signed_calls(messages: Messages) -> str | None:
    """Like Gemini 3: the first call of each reply has a signature."""
    firsts = [m["tool_calls"][0] for m in messages if m.get("tool_calls")]
    return None if all(call.get("extra_content") for call in firsts) else "unsigned"


def no_tools(messages: Messages) -> str | None:
    """Like templates that only know two roles."""
    used = any(m["role"] == "tool" or m.get("tool_calls") for m in messages)
    return "a tool message" if used else None


def broken(messages: Messages, *rules: Rule) -> list[str]:
    """The faults of the messages by those rules."""
    return [said for rule in rules if (said := rule(messages)) is not None]


def strict_about(
    refusal: Script | Callable[[str], Script], *rules: Rule, answer: Answer | None = None
) -> Callable[[RecordedRequest], Script | Answer]:
    """Refuses a request that breaks a rule, otherwise answers. `refusal` may depend on the
    fault.
    """

    def reply(request: RecordedRequest) -> Script | Answer:
        wrong = broken(request.messages, *rules)
        if not wrong:
            return answer or Answer("Done.")
        return refusal(wrong[0]) if callable(refusal) else refusal

    return reply
