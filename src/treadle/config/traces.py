"""The settings of traces: retention, intake limits, redaction and detectors."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from treadle.config.section import Age, Section, ServerWide, Size, UserOnly, checked

LARGEST_PROGRAM = 10_000
"""The maximum size of a compiled pattern, in RE2 instructions.

A larger pattern would be slow, since each pattern is tried on every text of every span.
"""
Severity = Literal["high", "medium", "low"]
Role = Literal["system", "user", "assistant", "tool", "arguments", "document", "error", "other"]


def _detector_pattern(value: str) -> str:
    from treadle.secrets.rules import compile_pattern  # loads RE2 only if there is a rule

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


def _uniquely_named(rules: "tuple[DetectorRule, ...]") -> "tuple[DetectorRule, ...]":
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"should have different names; {name!r} is used twice")
    return rules


class DetectorRule(Section):
    """A rule that reports a pattern in recorded spans as a finding."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """Name of this rule's findings: lower-case letters, digits, `-` and `_`."""
    pattern: Annotated[str, AfterValidator(_detector_pattern)]
    """Regular expression in RE2 syntax. `(?i)` at its beginning ignores case."""
    fields: tuple[str, ...] = ()
    """Globs of field paths.

    Examples are `output*`, `input*`, `error` and `attributes.http.*`. If the list is empty, all
    fields except attributes are searched.
    """
    roles: tuple[Role, ...] = ()
    """Message roles whose text is searched. If the list is empty, all roles are searched."""
    severity: Severity = "medium"
    """Severity of the findings."""
    message: Annotated[str, StringConstraints(max_length=200)] = ""
    """Message of the findings."""


class DetectorSettings(Section):
    """Detectors for recorded spans, in addition to the built-in detectors."""

    rules: Annotated[
        tuple[DetectorRule, ...], AfterValidator(_uniquely_named), Field(max_length=100), UserOnly()
    ] = ()
    """Your own detector rules."""


def _check_pattern(value: str) -> None:
    from treadle.secrets.rules import compile_pattern  # loads RE2 only if there is a rule

    try:
        compile_pattern(value)
    except ValueError as error:
        raise ValueError(f"should be a regular expression for RE2: {error}") from error


Pattern = Annotated[str, checked(_check_pattern)]


class RedactionRule(Section):
    """Your own rule for removing text from all recorded data."""

    pattern: Annotated[Pattern, UserOnly(), ServerWide()]
    """Regular expression in RE2 syntax for the text to remove."""
    replacement: Annotated[str | None, UserOnly(), ServerWide()] = None
    """Replacement text. If unset, it is `[redacted:NAME]`, with the name of the rule."""


class RedactionSettings(Section):
    """Your own redaction rules, which are applied before data is stored, and exceptions."""

    allow: Annotated[tuple[Pattern, ...], UserOnly(), ServerWide()] = ()
    """Regular expressions for whole texts that are kept although they look like secrets."""
    rules: dict[str, RedactionRule] = Field(default_factory=dict)
    """Redaction rules by name."""


class TraceSettings(Section):
    """Settings of traces. A repository cannot set them, since all repositories share the store."""

    keep: Annotated[Age | None, UserOnly()] = None
    """Age at which `treadle serve` deletes a trace, such as `30d`. If unset, traces are kept."""
    max_size: Annotated[Size | None, UserOnly()] = None
    """Maximum size of the store, such as `2GB`. `treadle serve` deletes the oldest traces first."""
    max_request: Annotated[Size, UserOnly(), ServerWide()] = "50MB"
    """Maximum size of a request with spans, after decompression."""
    grpc_port: Annotated[int | None, UserOnly(), ServerWide()] = Field(
        default=None, ge=1, le=65_535
    )
    """Port for OTLP/gRPC, in addition to HTTP (extra `grpc`). If unset, gRPC is disabled."""
    models_read: Annotated[Literal["repository", "all"] | None, UserOnly()] = None
    """Traces that models may read. Unset means all on the page, and this repository's over MCP."""
    redaction: RedactionSettings = Field(default_factory=RedactionSettings)
    detectors: DetectorSettings = Field(default_factory=DetectorSettings)
