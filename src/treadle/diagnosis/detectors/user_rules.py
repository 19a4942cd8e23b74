"""Detectors of `Layer.RULES`, which search for the patterns of the user's rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treadle.diagnosis.detectors.finding import Detector, Hit, Kind, Layer, Severity
from treadle.diagnosis.field_paths import as_text, step
from treadle.diagnosis.span_messages import Reading, Role, Text
from treadle.secrets.rules import compile_pattern
from treadle.traces.fencing import inline

if TYPE_CHECKING:
    from treadle.config.traces import DetectorRule

MAX_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that the user wants to find.

    `pattern` uses the syntax of RE2. `fields` are globs over paths such as `output*` or
    `attributes.http.*`. If `fields` is empty, every text of a span except its attributes is
    searched. If `roles` is empty, texts of every role are searched.
    """

    name: str
    pattern: str
    severity: Severity = Severity.MEDIUM
    message: str = ""
    fields: tuple[str, ...] = ()
    roles: frozenset[Role] = frozenset()

    @classmethod
    def of(cls, settings: "DetectorRule") -> "Rule":
        """Build a rule from a validated table of the configuration."""
        return cls(
            name=settings.name,
            pattern=settings.pattern,
            severity=Severity(settings.severity),
            message=settings.message,
            fields=settings.fields,
            roles=frozenset(map(Role, settings.roles)),
        )


def hits(user_rules: Sequence[Rule], reading: Reading) -> Iterator[Hit]:
    """Yield a hit for the first match of each rule in each text of a span."""
    if not user_rules:
        return
    attributes = [
        Text(step("attributes", name), Role.OTHER, as_text(value) or "")
        for name, value in reading.span.attributes.items()
    ]
    for rule in user_rules:
        pattern = _compiled(rule.pattern)
        for text in (*reading.texts, *(attributes if rule.fields else ())):
            if _concerns(rule, text) and (found := _first(pattern, text.text)) is not None:
                start, end, count = found
                title = rule.message or f"The rule {rule.name} found"
                yield Hit(
                    Detector(f"rule:{rule.name}", 1, Layer.RULES),
                    Kind.RULE,
                    rule.severity,
                    1.0,
                    f"{title.rstrip('.:')}: {inline(text.text[start:end])}.",
                    text.path,
                    start,
                    end,
                    count,
                )


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    return compile_pattern(f"(?m){pattern}")


def _concerns(rule: Rule, text: Text) -> bool:
    if rule.roles and text.role not in rule.roles:
        return False
    return not rule.fields or any(fnmatchcase(text.path, field) for field in rule.fields)


def _first(pattern: Any, text: str) -> tuple[int, int, int] | None:
    """Return the start and end of the first match, and the number of matches, or None.

    The number of matches is at most `MAX_COUNTED`. A `?` replaces each lone surrogate before the
    search.
    """
    first, count = None, 0
    for match in pattern.finditer(text.encode("utf-8", "replace").decode()):
        first = first or match.span()
        count += 1
        if count == MAX_COUNTED:
            break
    return (*first, count) if first else None
