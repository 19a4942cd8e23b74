"""Prompts that are too long for a model, in the words of providers and proxies."""

import re
from dataclasses import dataclass

_THROTTLED = re.compile(
    r"throttl|please wait|try again (?:later|in)|quota"
    r"|(?:tokens?|requests?) per (?:minute|day|hour)|rate.?limit|\b[TR]P[MD]\b",
    re.IGNORECASE,
)
_TOO_LARGE_FOR_RATE = re.compile(
    r"request too large|too large for .{0,120}per min|must be reduced|reduce your message size",
    re.IGNORECASE | re.DOTALL,
)
"""OpenAI and Groq say so of one request above the tokens of a whole minute: waiting never helps."""

_OVERFLOW = re.compile(
    r"context.?(?:length|window|size|limit|overflow)|(?:overflow|exceed)\w*.{0,24}context"
    r"|context shift is disabled"
    r"|maximum (?:allowed )?(?:context|prompt|input|sequence|number of (?:input |prompt )?tokens)"
    r"|max(?:imum)?[ _](?:seq|model|input|prompt)[ _]?len|exceed_context"
    r"|(?:prompt|input|request|messages?|conversation|history|text|body|payload|inputs?`?)"
    r"(?: \w+){0,3} (?:is |are |was )?(?:much |far )?too (?:long|large|big)"
    r"|too many (?:(?:input |prompt )?tokens|total text bytes)|tokens?_limit_(?:reached|exceeded)"
    r"|too (?:long|large) for (?:the |this |requested )?model"
    r"|messages\b.{0,60}at most \d+ characters"
    r"|(?:tokens?|length|size|count)\b.{0,60}(?:exceed|(?:longer|greater|larger|more) than)"
    r".{0,60}(?:limit|max|context|model|window|allowed|\d{3,})"
    r"|exceed\w*.{0,40}(?:token|max\w* (?:length|size)|length limit|context)"
    r"|reduce (?:the |your )?(?:length|size|number) of (?:the |your )?(?:\w+ )?"
    r"(?:messages?|prompt|input|tokens|text|request|either)|shorten (?:the|your) "
    r"|range of input length|tokens to keep from the initial prompt|\bn_ctx\b|prompt_too_long"
    r"|must have less than \d+ tokens|(?:inputs?`?|prompt) tokens .{0,40}(?:<=|≤|less than|at most)"
    r"|token limit (?:\w+ ){0,2}exceeded|(?:request|body|payload|prompt) (?:size )?exceeds"
    r"|string_above_max_length|上下文长度|输入长度|超[出过].{0,16}(?:长度|上下文)"
    r"|(?:prompt|tokens?|输入|上下文|内容|消息|文本).{0,12}(?:超长|过长|超限)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_THE_REPLY = re.compile(
    r"(?:max_?(?:completion_|output_|new_)?tokens`?'?\"?(?: \(?\d+\)?)? ?(?::|is|are|must|cannot|"
    r"should|value|parameter).{0,80}(?:too (?:large|high|big)|at most|less than|supports?|between))"
    r"|supports at most \d+ (?:completion|output)",
    re.IGNORECASE | re.DOTALL,
)
"""It is the limit of the reply that was refused, and a shorter prompt would not help."""

_SHARED = re.compile(
    r"maximum context length is \d+.{0,60}\b(?:input|prompt)"
    r"|max_tokens must be at least 1, got -\d",
    re.IGNORECASE,
)
"""As vLLM says it: the reply does not fit beside the prompt, so a shorter prompt helps."""

_ABOUT_OTHERS = re.compile(
    r"tool_calls?\b.{0,16}\bid\b|\btool_?(?:call|use)_?id|call id|\btools?(?:\[\d|\.\d)",
    re.IGNORECASE,
)
"""An id, or one tool's name or description, is too long."""


def is_overflow(status: int | None, text: str) -> bool:
    """Whether a refusal means that the prompt is too long."""
    if status == 429:
        return bool(_TOO_LARGE_FOR_RATE.search(text))
    if _TOO_LARGE_FOR_RATE.search(text) or status == 413:
        return True
    if _SHARED.search(text):
        return True
    if _THROTTLED.search(text) or _ABOUT_THE_REPLY.search(text) or _ABOUT_OTHERS.search(text):
        return False
    return bool(_OVERFLOW.search(text))


@dataclass(frozen=True, slots=True)
class Window:
    """What a refusal says in tokens: how many fit, and how many were sent; None where unknown."""

    limit: int | None
    sent: int | None


_NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:[,_]\d{3})+|\d{3,8})(?![\w.]*\d)")
_LIMIT_BEFORE = re.compile(
    r"(?:max\w*|limit\w*|only|n_ctx\W*|context[ _](?:length|window|size)|allowed|less than|up to"
    r"|at most|available|model'?s|<=|≤|\[\d+,)[^\d]{0,48}$",
    re.IGNORECASE,
)
_COMPARED = re.compile(r">=?\s*(?:[a-z_]{1,12}\s*[:=]\s*)?(\d[\d,_]{2,})", re.IGNORECASE)
"""As in `213462 tokens > 200000 maximum`: the limit is on the right."""
_LIMIT_BEHIND = re.compile(r"\s*(?:tokens? )?(?:max\b|maximum|limit)", re.IGNORECASE)


def read_window(text: str) -> Window:
    """The limit and the size that a refusal names; the largest other number is what was sent."""
    compared = _COMPARED.search(text)
    limit = int(re.sub(r"[,_]", "", compared[1])) if compared else None
    others: list[int] = []
    for found in _NUMBER.finditer(text):
        number = int(re.sub(r"[,_]", "", found[1]))
        before, behind = text[max(0, found.start() - 80) : found.start()], text[found.end() :]
        is_limit = _LIMIT_BEHIND.match(behind) or _LIMIT_BEFORE.search(before)
        if limit is None and is_limit:
            limit = number
        else:
            others.append(number)
    sent = max((each for each in others if limit is not None and each > limit), default=None)
    return Window(limit, sent)
