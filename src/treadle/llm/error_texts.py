"""Finds the cause in a provider's error text, for example that the prompt is too long."""

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass

from treadle.llm.strictness import ALPHANUMERIC, NINE_LETTERS, PLAIN_IDS, IdRule

_THROTTLED = re.compile(
    r"throttl|please wait|try again (?:later|in)|quota"
    r"|(?:tokens?|requests?) per (?:minute|day|hour)|rate.?limit|\b[TR]P[MD]\b",
    re.IGNORECASE,
)
_TOO_LARGE_FOR_RATE = re.compile(
    r"request too large|too large for .{0,120}per min|must be reduced|reduce your message size",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the refusal of a single request that exceeds the tokens allowed per minute.

OpenAI and Groq send such texts. Waiting does not help, since the same request would exceed the
limit again.
"""

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
"""Matches a refusal of the requested length of the reply. A shorter prompt does not help."""

_SHARED = re.compile(
    r"maximum context length is \d+.{0,60}\b(?:input|prompt)"
    r"|max_tokens must be at least 1, got -\d",
    re.IGNORECASE,
)
"""Matches vLLM's refusal of a prompt and reply that are too long together.

A shorter prompt helps.
"""

_ABOUT_OTHERS = re.compile(
    r"tool_calls?\b.{0,16}\bid\b|\btool_?(?:call|use)_?id|call id|\btools?(?:\[\d|\.\d)",
    re.IGNORECASE,
)
"""Matches texts about a call id or about one tool.

Such a text may state that one of them is too long. That does not mean that the prompt is too long.
"""


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
    """The model's token limit and the tokens of the request, as a refusal states them.

    None means that the refusal does not state the value.
    """

    limit: int | None
    sent: int | None


_NUMBER = re.compile(r"(?<![\w.])(\d{1,3}(?:[,_]\d{3})+|\d{3,8})(?![\w.]*\d)")
_LIMIT_BEFORE = re.compile(
    r"(?:max\w*|limit\w*|only|n_ctx\W*|context[ _](?:length|window|size)|allowed|less than|up to"
    r"|at most|available|model'?s|<=|≤|\[\d+,)[^\d]{0,48}$",
    re.IGNORECASE,
)
_COMPARED = re.compile(r">=?\s*(?:[a-z_]{1,12}\s*[:=]\s*)?(\d[\d,_]{2,})", re.IGNORECASE)
"""Matches a limit that follows a `>`, such as `213462 tokens > 200000 maximum`."""
_LIMIT_BEHIND = re.compile(r"\s*(?:tokens? )?(?:max\b|maximum|limit)", re.IGNORECASE)


def read_window(text: str) -> Window:
    """Read the limit and the size of the request, both in tokens, from a refusal.

    The size is the largest number in the text that is larger than the limit.
    """
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


_TOOLS = (
    r"(?<!\w)(?<!parallel )(?<!multiple )(?<!strict )['\"`]?"
    r"(?:tools|tool[ _-]?(?:use|usage|calls?|calling)|function[ _-]?call(?:s|ing)?|functions)"
    r"(?!\w)['\"`]?"
)

_NO_TOOLS = re.compile(
    # Examples: a 404 of OpenRouter, a 400 of vLLM and a 500 of llama.cpp.
    r"endpoints? found that supports? tool|requires --(?:jinja|enable-auto-tool-choice)"
    # Examples: "does not support tools", "can't use tools", "is not enabled for tool calls".
    r"|(?:\bnot|n['\u2019]t|cannot)(?: currently| yet)? (?:support|accept|allow|use|enabled for)\w*"
    rf" (?:(?:any|the|use of|using|native|parameters?:?) ?)*\[?{_TOOLS}"
    # Examples: "tool calling is unsupported", "tools are not enabled", "function calls not
    # implemented".
    rf"|{_TOOLS}(?: with function calling)?(?: is| are)?(?: currently| yet)? "
    r"(?:not (?:currently |yet )?(?:supported|enabled|available|implemented|allowed|permitted)"
    r"|unsupported|disabled)"
    # Examples: "unsupported parameter: tools", "unknown field 'tools'".
    r"|(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra)(?: \w+){0,2} "
    r"(?:param\w*|fields?|arguments?|keys?|propert\w+|inputs?)(?: supplied)?:? "
    r"\[?['\"`]?(?:tools|functions)(?!\w)(?!\[)"
    r"|extra_forbidden.{0,40}body['\"], ?['\"]tools['\"]\s*[\])]"
    r"|不支持(?:使用)? ?(?:工具|函数|tool|function)",
    re.IGNORECASE | re.DOTALL,
)


def says_no_tools(text: str) -> bool:
    """Whether a refusal means that the request must not offer tools.

    A limit on the number of tools, an error in one schema, or a refusal of parallel calls does not
    mean this.
    """
    return bool(_NO_TOOLS.search(text))


_IMAGES = r"['\"`]?(?:images?|image[ _]urls?|vision|multi-?modal(?:ity)?|input_image)(?!\w)['\"`]?"

_NO_IMAGES = re.compile(
    # These texts are a 404 of OpenRouter, and a 500 of llama.cpp without a projector.
    r"endpoints? found that supports? image|provide the mmproj"
    # does not support images, only accepts text, is not a multimodal model
    r"|(?:\bnot|n['\u2019]t|cannot)(?: currently| yet)? (?:support|accept|allow|take|have)\w* "
    rf"(?:(?:any|the|use of|using|inputs?|with|an?) ){{0,3}}{_IMAGES}"
    r"(?! (?:types?|formats?|files?|of|larger|with|above|over|sizes?))"
    r"|not an? (?:multi-?modal|vision)"
    # image input is not supported, image_url is only supported by certain models
    rf"|{_IMAGES}(?: (?:inputs?|content|parts?|modality|messages?|capabilit\w+)){{0,2}} (?:is|are)"
    r"(?: currently| yet)? (?:not (?:supported|enabled|available|allowed|accepted|permitted)"
    r"|unsupported|disabled|only (?:supported|available))"
    # invalid content type: image_url; unknown variant `image_url`, expected `text`
    r"|(?:unsupported|unknown|invalid|unexpected|not supported)"
    rf"(?: (?:content|message|part|type|variant|value|modality|input)s?){{1,4}}[:.]? {_IMAGES}"
    r"|only (?:supports?|accepts?) text|不支持(?:图片|图像|image)",
    re.IGNORECASE,
)


def says_no_images(text: str) -> bool:
    """Return whether a refusal means that the model takes no images.

    The refusal of a single image, for example because it is damaged or too large, does not mean
    this.
    """
    return bool(_NO_IMAGES.search(text))


_TOPIC = re.compile(
    r"tool[_ -]?(?:call|use)[_ -]?ids?|tool_?use\.id|tool_calls?(?:\[?\.?\d*\]?)?\.id"
    r"|call[_ -]ids?|\bids?\b.{0,60}(?:length|character|alphanumeric|pattern|begin|start|prefix)",
    re.IGNORECASE | re.DOTALL,
)
_CONSTRAINT = re.compile(
    r"must|should|invalid|expected|length|long|short|character|pattern|match|alphanumeric|begin"
    r"|start|prefix|format|letters|duplicate|unique",
    re.IGNORECASE,
)
_ABOUT_PAIRS = re.compile(
    r"did not have|followed by|no tool call found|not found in|without (?:a )?(?:corresponding|"
    r"preceding|matching)|does not match any|unexpected .{0,20}tool_use_id",
    re.IGNORECASE,
)

_ID_LENGTH = r"(?:is |of |be |to |=+ ?|: ?)*(\d{1,4})"
_MOST = re.compile(
    rf"(?:at most|maximum(?: [a-z]+){{0,2}}|max(?:_?length)?|less than or equal to|<=|≤|up to"
    rf"|within|no (?:more|longer) than|not exceed|exceeds?|limit(?:ed)?(?: [a-z]+)?) {{0,2}}"
    rf"{_ID_LENGTH}"
    rf"|(\d{{1,4}}) (?:characters? )?(?:or (?:less|fewer)|at most|maximum|max)",
    re.IGNORECASE,
)
_LEAST = re.compile(
    rf"(?:at least|minimum(?: [a-z]+){{0,2}}|greater than or equal to|>=|≥) {{0,2}}{_ID_LENGTH}",
    re.IGNORECASE,
)
_EXACT = re.compile(
    rf"(?:exactly|length|len) {_ID_LENGTH}|(\d{{1,4}})[- ](?:\w+[- ]){{0,3}}characters?"
    rf"|(\d{{1,4}}) (?:letters|alphanumeric)",
    re.IGNORECASE,
)
_QUANTIFIER = re.compile(r"\]\{(\d{1,4})(,?)(\d{0,4})\}")
_CLASS = re.compile(r"\[((?:[^\]\\\s]|\\.){3,80})\]")
_PREFIX = re.compile(
    r"(?:begin|start|prefix)\w*(?: with| of| by)?:? ?['\"`]([A-Za-z]{1,8}[_-]?)['\"`*]"
    r"|(?:begin|start|prefix)\w*(?: with| of| by)?:? ([A-Za-z]{1,8}_)"
    r"|['\"`]([A-Za-z]{1,8}_)['\"`] prefix"
    r"|\^\(?(?:\?:)?([A-Za-z]{1,8}[_-])\)?\["
)
_LETTERS = re.compile(
    r"a-z.{0,8}A-Z.{0,8}0-9|A-Z.{0,8}a-z.{0,8}0-9"
    r"|(?i:alpha-?numeric|letters?\b.{0,20}(?:number|digit))"
)
_NUMERALS = {"eight": 8, "nine": 9, "ten": 10, "sixteen": 16, "thirty-two": 32, "forty": 40}


def is_about_ids(error_text: str) -> bool:
    """Whether a refusal is about the form of call ids.

    The result is False for a refusal of calls without results, although it may mention ids.
    """
    about = _TOPIC.search(error_text) and _CONSTRAINT.search(error_text)
    return bool(about) and not _ABOUT_PAIRS.search(error_text)


def read_id_rule(error_text: str, ids: Iterable[str], current: IdRule) -> IdRule:
    """Read the rule for call ids from a refusal.

    If the text states no rule, return the strictest known rule. `ids` are the refused ids. Quotes
    of these ids in the text are ignored. `current` is the rule that was used so far. It supplies
    the parts of the rule that the text does not state.
    """
    for refused in sorted({each for each in ids if len(each) > 2}, key=len, reverse=True):
        error_text = error_text.replace(refused, "…")
    for word, number in _NUMERALS.items():
        error_text = re.sub(rf"\b{word}\b", str(number), error_text, flags=re.IGNORECASE)
    lengths, characters, prefix = _lengths(error_text), _characters(error_text), _prefix(error_text)
    if lengths is None and characters is None and not prefix:
        return NINE_LETTERS
    least, most = lengths or (1, current.most)
    if prefix and _QUANTIFIER.search(
        error_text
    ):  # the quantifier counts the characters after the prefix
        least, most = least + len(prefix), most + len(prefix)
    characters = characters or (PLAIN_IDS.characters if prefix else current.characters)
    return IdRule(characters, max(least, len(prefix) + 1), max(most, len(prefix) + 1), prefix)


def _lengths(error_text: str) -> tuple[int, int] | None:
    if (found := _QUANTIFIER.search(error_text)) is not None:
        least = int(found[1])
        return _usable(least, int(found[3] or 64) if found[2] else least)
    least = next((number for number in _lengths_in(_LEAST, error_text)), 1)
    if (most := next(iter(_lengths_in(_MOST, error_text)), None)) is not None:
        return _usable(least, most)
    if (exact := next(iter(_lengths_in(_EXACT, error_text)), None)) is not None:
        return _usable(exact, exact)
    return None


def _usable(minimum: int, maximum: int) -> tuple[int, int] | None:
    """Return the two lengths, or None if the maximum is too small for many different ids."""
    return (max(1, minimum), maximum) if maximum >= max(minimum, 4) else None


def _lengths_in(pattern: re.Pattern[str], error_text: str) -> list[int]:
    return [int(next(filter(None, found.groups()))) for found in pattern.finditer(error_text)]


def _characters(error_text: str) -> str | None:
    """Return the characters that an id may have, or None if the text does not name them."""
    for found in _CLASS.finditer(error_text):
        if (accepted := _class_members(found[1])) is not None:
            return accepted
    lowered = error_text.lower()
    if "hexadecimal" in lowered:
        return string.digits + "abcdef"
    if not _LETTERS.search(error_text):
        odd = re.search(r"(?:invalid|additional|illegal|special|other) characters?", lowered)
        return PLAIN_IDS.characters if odd else None
    lower = "lowercase" in lowered or "lower-case" in lowered
    letters = string.ascii_lowercase + string.digits if lower else ALPHANUMERIC
    return letters + "_" * ("underscore" in lowered) + "-" * bool(re.search("dash|hyphen", lowered))


def _class_members(members: str) -> str | None:
    """Return the characters that a regex character class accepts.

    Returns None if `members` is not a valid class of more than one character.
    """
    if "-" not in members and "\\" not in members:
        return None
    try:
        pattern = re.compile(f"[{members}]")
    except re.error:
        return None
    accepted = "".join(c for c in string.printable if c.isprintable() and pattern.match(c))
    return accepted if set(accepted) & set(ALPHANUMERIC) else None


def _prefix(error_text: str) -> str:
    found = _PREFIX.search(error_text)
    return next(filter(None, found.groups())) if found else ""
