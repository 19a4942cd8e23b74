"""Refusals that say that a model, or its server, cannot call tools."""

import re

_TOOLS = (
    r"(?<!\w)(?<!parallel )(?<!multiple )(?<!strict )['\"`]?"
    r"(?:tools|tool[ _-]?(?:use|usage|calls?|calling)|function[ _-]?call(?:s|ing)?|functions)"
    r"(?!\w)['\"`]?"
)

_NO_TOOLS = re.compile(
    # a 404 of OpenRouter; a 400 of vLLM; a 500 of llama.cpp
    r"endpoints? found that supports? tool|requires --(?:jinja|enable-auto-tool-choice)"
    # does not support tools, can't use tools, is not enabled for tool calls
    r"|(?:\bnot|n['\u2019]t|cannot)(?: currently| yet)? (?:support|accept|allow|use|enabled for)\w*"
    rf" (?:(?:any|the|use of|using|native|parameters?:?) ?)*\[?{_TOOLS}"
    # tool calling is unsupported, tools are not enabled, function calls not implemented
    rf"|{_TOOLS}(?: with function calling)?(?: is| are)?(?: currently| yet)? "
    r"(?:not (?:currently |yet )?(?:supported|enabled|available|implemented|allowed|permitted)"
    r"|unsupported|disabled)"
    # unsupported parameter: tools; unknown field "tools"
    r"|(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra)(?: \w+){0,2} "
    r"(?:param\w*|fields?|arguments?|keys?|propert\w+|inputs?)(?: supplied)?:? "
    r"\[?['\"`]?(?:tools|functions)(?!\w)(?!\[)"
    r"|extra_forbidden.{0,40}body['\"], ?['\"]tools['\"]\s*[\])]"
    r"|不支持(?:使用)? ?(?:工具|函数|tool|function)",
    re.IGNORECASE | re.DOTALL,
)


def says_no_tools(text: str) -> bool:
    """Whether a refusal means that the request must go without tools.

    A limit of their number, a fault in one schema, and a refusal of parallel calls do not.
    """
    return bool(_NO_TOOLS.search(text))
