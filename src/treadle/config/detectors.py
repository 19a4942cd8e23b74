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
            f"is no pattern of RE2 ({error}); it has no look-around and no backreferences"
        ) from None
    if compiled.search("") is not None:
        raise ValueError("should not match the empty text, which is everywhere")
    if compiled.programsize > LARGEST_PROGRAM:
        raise ValueError("is too large once its repetitions are written out")
    return value


def _different(rules: "tuple[DetectorRule, ...]") -> "tuple[DetectorRule, ...]":
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"should have different names; {name!r} is there twice")
    return rules


class DetectorRule(Section):
    """A pattern to look for in recorded spans."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """What findings of this rule are called: small letters, digits, `-` and `_`."""
    pattern: Annotated[str, AfterValidator(_pattern)]
    """What to look for, in the syntax of RE2; `(?i)` at its beginning ignores case."""
    fields: tuple[str, ...] = ()
    """Where, as globs over paths: `output*`, `input*`, `error`, `attributes.http.*`. Empty is
    everywhere but in attributes."""
    roles: tuple[Role, ...] = ()
    """Whose words; empty is anybody's."""
    severity: Severity = "medium"
    """How bad it is."""
    message: Annotated[str, StringConstraints(max_length=200)] = ""
    """What to report about it."""


class DetectorSettings(Section):
    """What detectors look for in recorded spans, in addition to the built-in faults."""

    rules: Annotated[
        tuple[DetectorRule, ...], AfterValidator(_different), Field(max_length=100), UserOnly()
    ] = ()
    """Patterns of your own."""
