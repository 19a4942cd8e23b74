"""The settings of `[traces.detectors]`: rules of the user's own, checked when they are read."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from treadle.config.section import Section, UserOnly

LARGEST_PROGRAM = 10_000
"""Of a compiled pattern, in RE2's instructions: it is tried on every text of every span."""
Severity = Literal["high", "medium", "low"]
Role = Literal["system", "user", "assistant", "tool", "arguments", "document", "error", "other"]


def _pattern(value: str) -> str:
    from treadle.secrets.rules import compile_pattern  # loads RE2 only where there is a rule

    try:
        compiled = compile_pattern(f"(?m){value}")
    except ValueError as error:
        raise ValueError(
            f"is not a valid RE2 pattern ({error}); RE2 has no look-around or backreferences"
        ) from None
    if compiled.search("") is not None:
        raise ValueError("should not match the empty text, which occurs everywhere")
    if compiled.programsize > LARGEST_PROGRAM:
        raise ValueError("is too large after its repetitions are expanded")
    return value


def _different(rules: "tuple[DetectorRule, ...]") -> "tuple[DetectorRule, ...]":
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"should have different names; {name!r} is used twice")
    return rules


class DetectorRule(Section):
    """A pattern to look for in recorded spans."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """Name of this rule's findings: lower-case letters, digits, `-` and `_`."""
    pattern: Annotated[str, AfterValidator(_pattern)]
    """Regular expression in RE2 syntax; `(?i)` at its beginning ignores case."""
    fields: tuple[str, ...] = ()
    """Globs over field paths: `output*`, `input*`, `error`, `attributes.http.*`. Empty searches
    every field except attributes."""
    roles: tuple[Role, ...] = ()
    """Roles whose text is searched; empty searches all."""
    severity: Severity = "medium"
    """Severity of the findings."""
    message: Annotated[str, StringConstraints(max_length=200)] = ""
    """Message of the findings."""


class DetectorSettings(Section):
    """Detectors for recorded spans, in addition to the built-in ones."""

    rules: Annotated[
        tuple[DetectorRule, ...], AfterValidator(_different), Field(max_length=100), UserOnly()
    ] = ()
    """Your own patterns."""
