"""The settings of traces: retention, intake limits, redaction and detectors."""

from typing import Annotated, Literal

from pydantic import Field

from treadle.config.detectors import DetectorSettings
from treadle.config.section import Age, Section, Size, UserOnly, checked


def _pattern(value: str) -> None:
    from treadle.secrets.rules import compile_pattern  # loads RE2 only where there is a rule

    try:
        compile_pattern(value)
    except ValueError as error:
        raise ValueError(f"should be a regular expression for RE2: {error}") from error


Pattern = Annotated[str, checked(_pattern)]


class RedactionRule(Section):
    """Your own rule for removing text from all recorded data."""

    pattern: Annotated[Pattern, UserOnly()]
    """A regular expression in the syntax of RE2."""
    replacement: Annotated[str | None, UserOnly()] = None
    """Replacement text; unset uses `[redacted:NAME]`."""


class RedactionSettings(Section):
    """Your own redaction rules, applied before data is stored, and exceptions."""

    allow: Annotated[tuple[Pattern, ...], UserOnly()] = ()
    """Regular expressions of texts to keep that look like secrets; each matches the whole text."""
    rules: dict[str, RedactionRule] = Field(default_factory=dict)
    """Rules by name."""


class TraceSettings(Section):
    """Recording of traces. All repositories share the store, so a repository cannot set this."""

    keep: Annotated[Age | None, UserOnly()] = None
    """Age at which `treadle serve` deletes a trace, such as `30d`; unset keeps all."""
    max_size: Annotated[Size | None, UserOnly()] = None
    """Maximum size of the store, such as `2GB`; `treadle serve` deletes the oldest traces first."""
    max_request: Annotated[Size, UserOnly()] = "50MB"
    """Maximum size of a request with spans, after decompression."""
    grpc_port: Annotated[int | None, UserOnly()] = Field(default=None, ge=1, le=65_535)
    """Port for OTLP/gRPC, in addition to HTTP (extra `grpc`); unset disables it."""
    models_read: Annotated[Literal["repository", "all"] | None, UserOnly()] = None
    """Traces that models may read; unset: this repository's over MCP, all on the page."""
    redaction: RedactionSettings = Field(default_factory=RedactionSettings)
    detectors: DetectorSettings = Field(default_factory=DetectorSettings)
