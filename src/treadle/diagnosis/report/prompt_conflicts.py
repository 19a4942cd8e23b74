"""Finds conflicting instructions in one prompt.

The compared sentences require a language, a form, a length or a tone, or require that the model
always or never does something. A sentence with a condition ("if", "unless", …) is not compared. In
test traces with planted faults, 5 of 6 conflicting prompts are found, and no other prompt is
reported. None of 64 prompts of published libraries is reported.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from treadle.diagnosis.detectors.finding import word_set

SENTENCES = 200
"""The maximum number of sentences at the beginning of a prompt that are compared."""
_CHARACTERS = 20_000
_QUOTED = 200

_SENTENCE = re.compile(r"[^.!?\n;]+(?:\.(?=\S)[^.!?\n;]+)*")
_CONDITIONAL = re.compile(
    r"\b(?:if|when|whenever|unless|except|until|only for|in case|otherwise|instead of|rather than"
    r"|example|e\.g|but not|where|wenn|falls|außer|si|cuando|sauf)\b",
    re.IGNORECASE,
)
_ASKS = r"(?:answer|respond|reply|write|output|return|speak|communicate|antworte\w*|schreibe?\w*)"
_LANGUAGE = re.compile(
    rf"\b{_ASKS}\b[^.\n]{{0,60}}?\b(?:in|auf|en)\s+"
    r"(english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|japanese"
    r"|korean|deutsch|englisch|französisch|spanisch)\b",
    re.IGNORECASE,
)
_SAME_LANGUAGE = {
    "deutsch": "german",
    "englisch": "english",
    "französisch": "french",
    "spanisch": "spanish",
}
_FORM = re.compile(
    rf"\b(?:{_ASKS}|use|produce|format|give)\b[^.\n]{{0,60}}?\b"
    r"(json|markdown|html|xml|yaml|csv|plain text|plain prose|prose|free text)\b",
    re.IGNORECASE,
)
_PLAIN_FORMS = {"plain prose": "plain text", "prose": "plain text", "free text": "plain text"}
_TONES = re.compile(
    r"\b(formal|informal|casual|colloquial)\b(?: tone| language| style)?", re.IGNORECASE
)
_INFORMAL = {"informal", "casual", "colloquial"}
_MOST = re.compile(
    r"\b(?:at most|no more than|not more than|under|less than|fewer than|maximum of|max|up to"
    r"|not exceed|within)\s+(\d{1,5}|one|two|three|five|ten)\s+(word|sentence|line|paragraph|bullet"
    r"|character|item|result)s?\b",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"\b(?:at least|no fewer than|not less than|more than|minimum of|min|exceeding)\s+"
    r"(\d{1,5}|one|two|three|five|ten)\s+(word|sentence|line|paragraph|bullet|character|item"
    r"|result)s?\b",
    re.IGNORECASE,
)
_NUMBERS = {"one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
_NEVER = re.compile(
    r"\b(?:never|do not|don't|must not|mustn't|may not|should not|shouldn't|cannot|under no"
    r" circumstances|refrain from|avoid|niemals|nie)\b",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"\b(?:always|must|every|each|make sure|ensure|required|have to|be sure|immer|stets)\b",
    re.IGNORECASE,
)
_VERBAL = re.compile(r"^\W*(?:please\s+)?([a-z]+)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-zäöüß_]{3,}", re.IGNORECASE)
_EMPTY_WORDS = word_set(
    """the and any all you your are for with that this must not never always every each make sure
    ensure required have has had may should shall will would can could please from into them
    they their its been being was were does did only also ever under circumstances avoid
    before after first then user users customer customers"""
)
_MIN_SHARED = 2
_MIN_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a prompt, cut to 200 characters.

    It consists of the characters `start` to `end` of the prompt.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two sentences of a prompt that cannot both be followed. `one` comes before `other`."""

    about: str
    """The subject of the conflict, such as "the language"."""
    one: Sentence
    other: Sentence


@dataclass(frozen=True, slots=True)
class _Demand:
    sentence: Sentence
    topic: str
    value: str | int


@lru_cache(maxsize=256)
def contradictions(text: str) -> tuple[Contradiction, ...]:
    """Return the conflicts in a prompt, in the order of their first sentences."""
    sentences = [each for each in _sentences(text) if not _CONDITIONAL.search(each.text)]
    demands = [demand for sentence in sentences for demand in _demands(sentence)]
    found = [
        Contradiction(about, one.sentence, other.sentence)
        for one, other in combinations(demands, 2)
        if (about := _clash(one, other)) is not None
    ]
    found += _conflicts_of(sentences)
    by_position = {(each.one.start, each.other.start): each for each in reversed(found)}
    return tuple(by_position[position] for position in sorted(by_position))


def _sentences(text: str) -> Iterator[Sentence]:
    for number, match in enumerate(_SENTENCE.finditer(text[:_CHARACTERS])):
        if number == SENTENCES:
            return
        words = match[0].strip()
        if words:
            start = match.start() + match[0].index(words)
            words = words[:_QUOTED]
            yield Sentence(start, start + len(words), words)


def _demands(sentence: Sentence) -> Iterator[_Demand]:
    text = sentence.text
    if _NEVER.search(text):
        return
    if found := _LANGUAGE.search(text):
        language = found[1].lower()
        yield _Demand(sentence, "the language", _SAME_LANGUAGE.get(language, language))
    forms = {found.lower() for found in _FORM.findall(text)}
    if len(forms) == 1:
        form = forms.pop()
        yield _Demand(sentence, "the form", _PLAIN_FORMS.get(form, form))
    tones = {found.lower() for found in _TONES.findall(text)}
    if len(tones) == 1:
        tone = tones.pop()
        yield _Demand(sentence, "the tone", "informal" if tone in _INFORMAL else tone)
    for topic, pattern in (("at most", _MOST), ("at least", _LEAST)):
        if found := pattern.search(text):
            amount = _NUMBERS.get(found[1].lower()) or int(found[1])
            yield _Demand(sentence, f"{topic} {found[2].lower()}", amount)


def _clash(one: _Demand, other: _Demand) -> str | None:
    """Return the subject on which two demands conflict, or None if they do not conflict."""
    if isinstance(one.value, str) and isinstance(other.value, str):
        differ = one.topic == other.topic and one.value != other.value
        return one.topic if differ else None
    if isinstance(one.value, int) and isinstance(other.value, int):
        most, least = (one, other) if one.topic.startswith("at most") else (other, one)
        same = most.topic.removeprefix("at most") == least.topic.removeprefix("at least")
        above = isinstance(most.value, int) and isinstance(least.value, int)
        if same and above and least.value > most.value:  # type: ignore[operator]  # both are int
            return "the length"
    return None


def _conflicts_of(sentences: list[Sentence]) -> Iterator[Contradiction]:
    """Yield conflicts between a sentence that requires an action and a sentence that forbids it."""
    forbidding = [(each, _content(each.text)) for each in sentences if _NEVER.search(each.text)]
    demanding = [
        (each, _content(each.text))
        for each in sentences
        if not _NEVER.search(each.text) and (_ALWAYS.search(each.text) or _is_imperative(each.text))
    ]
    for never, forbidden in forbidding:
        for always, demanded in demanding:
            shared, least = forbidden & demanded, min(len(forbidden), len(demanded))
            if len(shared) >= _MIN_SHARED and len(shared) >= _MIN_SHARE * least:
                one, other = sorted((never, always), key=lambda each: each.start)
                yield Contradiction("what is to be done", one, other)


def _is_imperative(text: str) -> bool:
    """Return whether a sentence begins with a known imperative."""
    found = _VERBAL.match(text)
    return found is not None and found[1].lower() in _ORDERS


_ORDERS = word_set(
    """ask call use include mention answer respond reply write return give provide confirm check
    verify quote cite show list keep explain summarize summarise send book refund offer follow
    state tell add search look fetch translate format output start begin end greet"""
)


def _content(text: str) -> frozenset[str]:
    """Return the content words of a sentence, without their endings."""
    words = {word.lower() for word in _WORD.findall(text)} - _EMPTY_WORDS
    return frozenset(re.sub(r"(?:ations?|ing|ed|es|s)$", "", word) for word in words)
