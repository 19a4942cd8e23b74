"""The settings of traces: what is kept how long, how much is taken at once, what is redacted."""

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
    """What else is taken out of everything that is recorded, under a name of yours."""

    pattern: Annotated[Pattern, UserOnly()]
    """A regular expression in the syntax of RE2."""
    replacement: Annotated[str | None, UserOnly()] = None
    """The text that replaces it; unset takes `[redacted:NAME]`."""


class RedactionSettings(Section):
    """Your own rules of what is taken out before anything is stored, and of what is not."""

    allow: Annotated[tuple[Pattern, ...], UserOnly()] = ()
    """Regular expressions of what stays although it looks like a secret; each of it as a whole."""
    rules: dict[str, RedactionRule] = Field(default_factory=dict)
    """Rules by name."""


class TraceSettings(Section):
    """What is recorded. It is kept for all repositories at once, so none may set this."""

    keep: Annotated[Age | None, UserOnly()] = None
    """Age at which `treadle serve` deletes a trace, such as `30d`; unset keeps all."""
    max_size: Annotated[Size | None, UserOnly()] = None
    """Size that `treadle serve` keeps the store below, such as `2GB`, oldest traces first."""
    max_request: Annotated[Size, UserOnly()] = "50MB"
    """The largest request with spans that is taken, after decompression."""
    grpc_port: Annotated[int | None, UserOnly()] = Field(default=None, ge=1, le=65_535)
    """Port for spans over OTLP/gRPC, in addition to HTTP (extra `grpc`); unset serves none."""
    models_read: Annotated[Literal["repository", "all"] | None, UserOnly()] = None
    """Records that models may read; unset: this repository's over MCP, all on the page."""
    redaction: RedactionSettings = Field(default_factory=RedactionSettings)
    detectors: DetectorSettings = Field(default_factory=DetectorSettings)
