"""Whether a question goes on from the one before it, and is then about the same."""

import re

from treadle.agents.page import PageContext

_BEGINS = re.compile(
    r"\W*(?:(?:and|but|so|also|then|what else|more|go on|what about|how about|how so|how come)\b"
    r"|why\W*$)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:it|its|that|this|these|those|they|them|there|same|again)\b", re.IGNORECASE
)
_EVERYTHING = re.compile(r"\b(?:all|any|every\w*|overall|in total|anything)\b", re.IGNORECASE)


def followed(question: str, page: PageContext, earlier: PageContext) -> PageContext:
    """What a question is about: `page`, or what the one before was about.

    That only where the page names nothing, and where the question points back: it begins with
    "and" or the like, or says "it" or "that", and does not ask about everything.
    """
    if page.scope.conditions or page.experiment_id or not earlier.scope.conditions:
        return page
    points = _BEGINS.match(question) or _POINTS.search(question)
    if not points or _EVERYTHING.search(question):
        return page
    return earlier.model_copy(update={"page": page.page})
