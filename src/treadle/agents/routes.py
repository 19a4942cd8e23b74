"""The fourteen routes of a question, and the rules by which one is found without a model."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from treadle.agents.page import PageContext
from treadle.diagnosis.report.results import Focus


class Route(StrEnum):
    """What a question is about."""

    RUN_ANALYSIS = "run analysis"
    SPAN_ANALYSIS = "span analysis"
    THREAD_ANALYSIS = "thread analysis"
    ERRORS = "errors"
    PERFORMANCE = "performance"
    COST = "cost"
    OPTIMISE = "optimise"
    APPLY = "apply"
    GREETING = "greeting"
    LABEL_DISCOVERY = "label discovery"
    DATA_BY_LABEL = "data by label"
    FILTER_VIEW = "filter the view"
    COMPARE_LABELS = "compare labels"
    NAVIGATION = "navigation"


FOCUS = {
    Route.ERRORS: Focus.ERRORS,
    Route.PERFORMANCE: Focus.PERFORMANCE,
    Route.COST: Focus.COST,
    Route.OPTIMISE: Focus.EVERYTHING,
}


@dataclass(frozen=True, slots=True)
class Routed:
    """Where a question goes: its route, the known labels that it names, in their order in it."""

    route: Route
    labels: tuple[str, ...] = ()


_GREETING = re.compile(
    r"\s*(?:(?:hi|hello|hey|good (?:morning|day|afternoon|evening)|hallo|moin|servus|bonjour|hola"
    r"|thanks|thank you|thx|danke|merci|gracias|bye|goodbye|there|treadle|all|everyone)\W*)+\s*"
    r"|.{0,20}\b(?:what can you do|who are you|how do you work|help)\b.{0,10}",
    re.IGNORECASE | re.DOTALL,
)
_RULES: tuple[tuple[Route, str], ...] = (
    (
        Route.FILTER_VIEW,
        (
            r"\b(?:(?:clear|remove|reset|drop|undo)\b.{0,20}\bfilter|un-?filter|filter (?:by"
            r"|for|on|to|the|down|this|it|my)|(?:apply|set|add)\b.{0,30}\bfilter|(?:show"
            r"|display|list|see|view)(?: me)? only|only (?:show|display|list)|narrow (?:it "
            r"|this |the view )?(?:down )?to)\b"
        ),
    ),
    (
        Route.APPLY,
        (
            r"^\W*(?:please |now |ok(?:ay)?,? |yes,? )*(?:apply|do it\b|go ahead|use (?:that"
            r"|this|the) (?:change|suggestion|fix|patch|prompt|model)|make (?:that|this"
            r"|the) change)|\bapply (?:it|this|that|the|your|these"
            r"|those)\b(?!.{0,20}\bfilter)"
        ),
    ),
    (
        Route.COMPARE_LABELS,
        (
            r"\bcompar\w*\b.{0,80}\blabels?\b|\blabels?\b.{0,80}\b(?:compared?|versus|vs\.?"
            r"|against)\b"
        ),
    ),
    (
        Route.NAVIGATION,
        (
            r"^\W*(?:please |can you |could you |now )*(?:open|go (?:back )?to|navigate"
            r"|take me|bring me|jump to|switch to|show me the (?:page|list|screen"
            r"|experiments?|settings|threads?|runs?|traces?)\b)"
        ),
    ),
    (
        Route.LABEL_DISCOVERY,
        (
            r"\b(?:what|which|list|show|are there(?: any)?|available|all|known"
            r"|existing)\b.{0,30}\b(?:labels|tags)\b"
        ),
    ),
    (
        Route.OPTIMISE,
        (
            r"\b(?:optimi[sz]\w*|improv\w+|tun(?:e|ing)|better (?:prompt|model|answer)"
            r"|experiment|cheaper (?:model|prompt)|shorten|try (?:it |this )?with|make (?:it"
            r"|(?:this|that|the)(?: \w+)?) (?:faster|cheaper|better|shorter))\b"
        ),
    ),
    (
        Route.COST,
        (
            r"\b(?:costs?|costly|expensive|cheap\w*|pric\w+|money|spen[dt]\w*|dollars?|usd|budget"
            r"|token\w*|cach(?:e|ed|ing)|bill\w*)\b|\$"
        ),
    ),
    (
        Route.PERFORMANCE,
        (
            r"\b(?:slow\w*|latenc\w+|perform\w*|bottleneck\w*|fast\w*|quick\w*|took so long"
            r"|take so long|takes? (?:too )?long|duration\w*|time to first|ttft|p9\d|speed"
            r"|hang\w*|stuck|waiting|critical path)\b"
        ),
    ),
    (
        Route.ERRORS,
        (
            r"\b(?:err\w*|fail\w*|fault\w*|wrong|exception\w*|broke\w*|crash\w*|bugs?"
            r"|issues?|problems?|problematic|went bad|not work\w*|doesn'?t work|refus\w+"
            r"|hallucinat\w*|loops?|looping|retr(?:y|ies)|timeouts?|timed out)\b"
        ),
    ),
)
_COMPILED = tuple((route, re.compile(rule, re.IGNORECASE | re.DOTALL)) for route, rule in _RULES)
_AGAINST = re.compile(
    r"\b(?:compar\w*|versus|vs\.?|against|differ\w*|(?:better|worse|more|less) than)", re.IGNORECASE
)
_NAMED = (
    (Route.SPAN_ANALYSIS, re.compile(r"\b(?:span|call|step|request|reply)\b", re.IGNORECASE)),
    (Route.RUN_ANALYSIS, re.compile(r"\b(?:run|trace|execution)\b", re.IGNORECASE)),
    (
        Route.THREAD_ANALYSIS,
        re.compile(r"\b(?:thread|conversation|chat|dialog\w*)\b", re.IGNORECASE),
    ),
)


def find_route(question: str, page: PageContext, labels: Collection[str] = ()) -> Routed:
    """The route of a question. `labels` are those that exist; the first rule that fits counts."""
    named = tuple(_named_labels(question, labels))
    if _GREETING.fullmatch(question):
        return Routed(Route.GREETING)
    if len(named) > 1 and _AGAINST.search(question):
        return Routed(Route.COMPARE_LABELS, named)
    for route, rule in _COMPILED:
        if rule.search(question):
            return Routed(route, named)
    if named or re.search(r"\blabel(?:l?ed)?\b", question, re.IGNORECASE):
        return Routed(Route.DATA_BY_LABEL, named or page.labels)
    return Routed(_analysis(question, page), named)


def _analysis(question: str, page: PageContext) -> Route:
    """Which thing is to be analysed: the one that is named, else the narrowest on the screen."""
    shown = {
        Route.SPAN_ANALYSIS: page.span_id,
        Route.RUN_ANALYSIS: page.run_id or page.trace_id,
        Route.THREAD_ANALYSIS: page.thread_id,
    }
    named = [route for route, words in _NAMED if words.search(question)]
    narrowest = next((route for route, value in shown.items() if value), Route.THREAD_ANALYSIS)
    on_screen = next((route for route in named if shown[route]), None)
    return on_screen or next((each for each in named if each is Route.RUN_ANALYSIS), narrowest)


def _named_labels(question: str, labels: Collection[str]) -> Iterator[str]:
    """The labels that are separate words of the question, in its order."""
    places: list[tuple[int, str]] = []
    for label in sorted(labels, key=len, reverse=True):
        found = re.search(rf"(?<![\w:-]){re.escape(label)}(?![\w-])", question, re.IGNORECASE)
        if found and not any(label in longer and label != longer for _, longer in places):
            places.append((found.start(), label))
    yield from (label for _, label in sorted(places))
