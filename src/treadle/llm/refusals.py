"""Finds the demand of an endpoint in the text with which it refused a history.

A strictness is the set of all demands of one endpoint. A reader is a function that looks for one
demand in the text. It returns the strictness with that demand, or None if it does not find the
demand. Some readers look for the name of a field, and for a statement that the field is missing or
not permitted.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from treadle.llm.error_texts import is_about_ids, read_id_rule
from treadle.llm.reply_assembler import ECHOED_FIELDS, REASONING_FIELDS
from treadle.llm.strictness import NINE_LETTERS, MissingText, Reasoning, Strictness

JsonObject = dict[str, Any]


class Meaning(StrEnum):
    """Whether a refusal demands a field or refuses it."""

    DEMANDED = "demanded"
    REFUSED = "refused"
    UNCLEAR = "unclear"


_REFUSED = re.compile(
    r"not (?:be )?(?:permitted|allowed|supported|accepted|recogni[sz]ed|expected|included|sent)"
    r"|extra (?:inputs?|fields?|propert\w+|keys?)|extra_forbidden|additional propert"
    r"|unknown|unrecogni[sz]ed|unsupported|forbidden|no longer"
    r"|(?:should|must) not(?! be (?:empty|blank|null|none|missing|omitted))"
    r"|does not (?:support|accept|allow|permit)|cannot be (?:specified|included|sent|used)"
    r"|could not be parsed|remove|不支持|不允许",
    re.IGNORECASE,
)
_WANTED = re.compile(
    r"must (?:also )?(?:be|have|include|contain|start|carry)|missing|required?|requires"
    r"|(?:has|have) to be|\bneeds?\b|expected|cannot be (?:empty|blank|null|none)|absent|lacks?"
    r"|not (?:found|provided|present|passed)|should be|pass(?:ed)? back|without|必须|缺少|不能为空"
    r"|not be (?:empty|blank|null|none|missing|omitted)",
    re.IGNORECASE,
)
_WEAKLY_REFUSED = re.compile(r"unexpected|invalid|illegal", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[;}\]\n]|(?<=[^\s\d])[.!?](?=\s|$)")


def meaning(error_text: str, field: str) -> Meaning | None:
    """Return what the refusal says about a field, or None if it does not name the field."""
    named = re.compile(rf"(?<![\w]){re.escape(field)}(?![\w])")
    if not named.search(error_text):
        return None
    for clause in [c for c in _CLAUSE_END.split(error_text) if named.search(c)] + [error_text]:
        rest = named.sub(" ", clause)
        if _REFUSED.search(rest):
            return Meaning.REFUSED
        if _WANTED.search(rest):
            return Meaning.DEMANDED
        if _WEAKLY_REFUSED.search(rest):
            return Meaning.REFUSED
    return Meaning.UNCLEAR


@dataclass(frozen=True, slots=True)
class Refusal:
    """The text of a refusal, the refused messages, and the strictness to which they conform."""

    said: str
    strictness: Strictness
    messages: Sequence[JsonObject]

    def has(self, role: str) -> bool:
        """Whether the request had a message with this role."""
        return any(message["role"] == role for message in self.messages)

    @property
    def replies(self) -> list[JsonObject]:
        """The replies of the model in the refused history."""
        return [message for message in self.messages if message["role"] == "assistant"]

    @property
    def calls(self) -> list[JsonObject]:
        """The tool calls of all replies."""
        return [call for message in self.replies for call in message.get("tool_calls", ())]


Change = tuple[Strictness, str]
"""The new strictness, and a description of the change."""


def changes(refusal: Refusal) -> list[Change]:
    """Return the changes that may satisfy the endpoint, the most likely first."""
    found = [change for read in _READERS if (change := read(refusal)) is not None]
    return found or (_template_changes(refusal) if _TEMPLATE.search(refusal.said) else [])


_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt)s?.{0,20}(?:not (?:supported|allowed|enabled)|unsupported)"
    r"|not support.{0,24}\bsystem\b|developer instruction is not enabled",
    re.IGNORECASE | re.DOTALL,
)


def _system_role(refusal: Refusal) -> Change | None:
    if not refusal.has("system") or not _NO_SYSTEM.search(refusal.said):
        return None
    return replace(refusal.strictness, system_role=False), (
        "the instruction is sent at the beginning of the first message"
    )


_ORDER = re.compile(
    r"\balternat(?:e|es|ing)\b|交替|顺序|last entry in (?:the )?chat history|unexpected role"
    r"|(?:cannot|can't|must not|should not|may not) (?:directly |immediately )?follow"
    r"|(?:last|first|next|previous|expected) (?:\w+ )?(?:message |turn )?role"
    r"|first (?:\w+ )?message|(?:must|should) (?:start|begin|end) with|consecutive"
    r"|immediately after an?|followed by (?:an? )?['\"`]?assistant"
    r"|after (?:role |an? )?['\"`]?tool\b|same role|role (?:order|sequence)"
    r"|(?:order|sequence) of (?:the )?(?:roles|messages|turns)|(?:message|turn) order"
    r"|invalid (?:message|role|turn)s? (?:order|sequence)",
    re.IGNORECASE | re.DOTALL,
)


def _order(refusal: Refusal) -> Change | None:
    if refusal.strictness.alternating or not _ORDER.search(refusal.said):
        return None
    return replace(refusal.strictness, alternating=True), "the roles of messages now alternate"


_NO_TOOL_ROLE = re.compile(
    r"only .{0,40}roles? (?:are|is) supported|(?:unknown|unsupported|invalid|unexpected) "
    r"(?:message )?role:? ?['\"`]?tool\b|role ['\"`]?tool['\"`]? (?:is )?(?:not|un)",
    re.IGNORECASE | re.DOTALL,
)


def _tool_role(refusal: Refusal) -> Change | None:
    if not refusal.has("tool") or not _NO_TOOL_ROLE.search(refusal.said):
        return None
    if re.search(r"after (?:role )?['\"`]?\w+", refusal.said, re.IGNORECASE):
        return None  # the text is about the order of messages
    return replace(refusal.strictness, tools=False), (
        "trying without tools; earlier results are sent as text"
    )


def _ids(refusal: Refusal) -> Change | None:
    ids = [str(call["id"]) for call in refusal.calls]
    if not ids or not is_about_ids(refusal.said):
        return None
    rule = read_id_rule(refusal.said, ids, refusal.strictness.call_ids)
    if all(rule.accepts(each) for each in ids):
        rule = NINE_LETTERS
    return replace(refusal.strictness, call_ids=rule), "ids of tool calls are rewritten"


_SINGLE = re.compile(
    r"single tool[- ]?calls?|(?:only )?one tool[- ]?call|(?:parallel|multiple) tool[- ]?calls?",
    re.IGNORECASE,
)


def _single_calls(refusal: Refusal) -> Change | None:
    parallel = any(len(message.get("tool_calls", ())) > 1 for message in refusal.replies)
    if not parallel or not _SINGLE.search(refusal.said):
        return None
    return replace(refusal.strictness, single_calls=True), (
        "calls of one reply are sent separately"
    )


_RESULT_NAME = re.compile(
    r"function_?response\.name|(?:tool|function).{0,30}(?<![\w.])name(?!\w).{0,40}(?:required|"
    r"missing|empty)|(?:required|missing).{0,40}(?<![\w.])name(?!\w).{0,40}tool (?:message|result)",
    re.IGNORECASE | re.DOTALL,
)


def _result_name(refusal: Refusal) -> Change | None:
    if not refusal.has("tool") or refusal.strictness.named_results:
        return None
    if not _RESULT_NAME.search(refusal.said):
        return None
    return replace(
        refusal.strictness, named_results=True
    ), "results are sent with their tool's name"


_THOUGHTS = (*REASONING_FIELDS, "thinking", "thinking_blocks", "reasoning_text")


def _reasoning(refusal: Refusal) -> Change | None:
    """Return the change if the endpoint requires reasoning or refuses the fields of reasoning."""
    strictness, said = refusal.strictness, refusal.said
    meanings = {name: meaning(said, name) for name in (*_THOUGHTS, *ECHOED_FIELDS)}
    sent = {
        name
        for source in (*refusal.replies, *refusal.calls)
        for name in ECHOED_FIELDS
        if name in source
    }
    refused = {n for n in sent if meanings[n] in (Meaning.REFUSED, Meaning.UNCLEAR)}
    if refused:
        fields = strictness.refused_fields | refused
        return replace(strictness, refused_fields=fields), "reasoning is not sent back"
    demanded = [
        name
        for name in _THOUGHTS
        if meanings[name] is Meaning.DEMANDED
        or (meanings[name] is Meaning.UNCLEAR and name not in sent)
    ]
    if not demanded or not refusal.replies:
        return None
    field = next((name for name in demanded if name in REASONING_FIELDS), REASONING_FIELDS[0])
    missing = any(field not in message for message in refusal.replies)
    wants = Reasoning.REQUIRED if missing else Reasoning.FILLED
    fields = strictness.refused_fields - {field}
    changed = replace(strictness, reasoning=wants, reasoning_field=field, refused_fields=fields)
    return changed, f"{field} is sent with each earlier reply"


_SIGNATURE = re.compile(r"thought_?signature", re.IGNORECASE)


def _signature(refusal: Refusal) -> Change | None:
    if not refusal.calls or refusal.strictness.call_signatures:
        return None
    found = _SIGNATURE.search(refusal.said)
    if not found or meaning(refusal.said, found[0]) is Meaning.REFUSED:
        return None
    return replace(refusal.strictness, call_signatures=True), (
        "calls of other models are sent with a neutral signature"
    )


_CONTENT = re.compile(
    r"(?<![\w])contents?(?![\w])|contentblock|text (?:field|block|part)", re.IGNORECASE
)
_NOT_EMPTY = re.compile(
    r"non-?empty|(?:must|may|should|can) ?not be (?:empty|blank)|is (?:empty|blank)"
    r"|at least (?:1|one) char|min_?length|too.?short|empty (?:content|text|message)",
    re.IGNORECASE,
)


def _missing_text(refusal: Refusal) -> Change | None:
    """Return the change if the endpoint refused a message without text."""
    textless = any(not message.get("content") for message in refusal.replies)
    if not textless or not _CONTENT.search(refusal.said):
        return None
    form = MissingText.NULL
    if _NOT_EMPTY.search(refusal.said):
        form = MissingText.FILLER
    elif refusal.strictness.missing_text is MissingText.NULL:
        form = MissingText.EMPTY
    word = {MissingText.NULL: "null", MissingText.EMPTY: "an empty string"}.get(form, "a word")
    return replace(refusal.strictness, missing_text=form), f"missing text is sent as {word}"


_TEMPLATE = re.compile(
    r"jinja|(?:chat |prompt )template|raise_exception|apply_chat_template", re.IGNORECASE
)


def _template_changes(refusal: Refusal) -> list[Change]:
    """Return all changes that may help if a chat template failed.

    The text of such a failure does not state the demand.
    """
    strictness = refusal.strictness
    return [
        (replace(strictness, alternating=True), "the roles of messages now alternate"),
        (
            replace(strictness, missing_text=MissingText.EMPTY),
            "missing text is sent as an empty string",
        ),
        (
            replace(strictness, single_calls=True),
            "calls of one reply are sent separately",
        ),
    ]


_READERS: tuple[Callable[[Refusal], Change | None], ...] = (
    _system_role,
    _ids,
    _single_calls,
    _result_name,
    _reasoning,
    _signature,
    _tool_role,
    _order,
    _missing_text,
)
"""All readers, in the order in which they read a text.

Those that look for the most specific statements come first.
"""
