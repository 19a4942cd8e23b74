"""Layer 3: rules of the user, and errors in them."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.diagnosis.detectors.spans import assistant, calls, model, only, other, tool, user
from treadle.config.traces import DetectorSettings
from treadle.diagnosis.detectors import Kind, Layer, Rule, Severity, detect
from treadle.diagnosis.evidence import holds
from treadle.diagnosis.span_messages import Role

SLOW = Rule("slow", r"took \d{4,} ms", Severity.LOW, "A slow answer")


def test_rule_match_has_position_and_count() -> None:
    span = tool("step 1 took 4000 ms\nstep 2 took 12 ms\nstep 3 took 9000 ms")
    (found,) = detect([span], [SLOW])
    assert (found.detector, found.layer, found.kind) == ("rule:slow", Layer.RULES, Kind.RULE)
    assert (found.severity, found.count) == (Severity.LOW, 2)
    assert (found.evidence.field, found.evidence.quote) == ("output", "took 4000 ms")
    assert found.message == 'A slow answer: "took 4000 ms".'
    assert holds(found.evidence, span)


def test_rule_reads_only_its_fields_and_roles() -> None:
    span = model([user("took 4000 ms"), calls(("f", "took 5000 ms"))], [assistant("took 6000 ms")])
    quotes = {
        "system": [],
        "user": ["took 4000 ms"],
        "assistant": ["took 6000 ms"],
        "arguments": ["took 5000 ms"],
    }
    for role, expected in quotes.items():
        rule = Rule("r", SLOW.pattern, roles=frozenset({Role(role)}))
        found = detect([span], [rule], layers=[Layer.RULES])
        assert [each.evidence.quote for each in found] == expected
    for field, number in (("input*", 2), ("output*", 1), ("output[0].text", 0), ("error", 0)):
        rule = Rule("r", SLOW.pattern, fields=(field.replace("[", "[[]"),))
        assert len(detect([span], [rule], layers=[Layer.RULES])) == number


def test_attributes_are_looked_at_when_they_are_named() -> None:
    span = other(attributes={"db.statement": "select took 4000 ms"})
    assert not detect([span], [SLOW])
    (found,) = detect([span], [Rule("r", SLOW.pattern, fields=("attributes.db.*",))])
    assert found.evidence.field == "attributes.db.statement"
    assert holds(found.evidence, span)


def test_half_of_a_surrogate_pair_does_not_break_a_rule() -> None:
    span = tool("\ud800 took 4000 ms")
    (found,) = detect([span], [SLOW])
    assert holds(found.evidence, span)


def test_rules_do_not_change_other_findings() -> None:
    assert only(tool("Error: disk is full")).layer is Layer.PATTERNS


def settings(**changes: Any) -> DetectorSettings:
    rule = {"name": "slow", "pattern": "took"} | changes
    return DetectorSettings.model_validate({"rules": [rule]})


def test_settings_become_rules() -> None:
    (rule,) = settings(roles=["tool"], fields=["output*"], severity="high").rules
    assert Rule.of(rule) == Rule(
        "slow", "took", Severity.HIGH, fields=("output*",), roles=frozenset({Role.TOOL})
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pattern": "("}, "is not a valid RE2 pattern"),
        ({"pattern": "(?=a)"}, "no look-around"),
        ({"pattern": r"(a)\1"}, "invalid escape sequence"),
        ({"pattern": "a*"}, "should not match the empty text"),
        ({"pattern": "a{1,900}" * 20}, "too large"),
        ({"name": "Not Good"}, "name"),
        ({"severity": "fatal"}, "'high', 'medium' or 'low'"),
        ({"roles": ["robot"]}, "'system'"),
        ({"field": "output"}, "field"),
    ],
)
def test_invalid_rule_is_explained(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        settings(**changes)
    assert said in str(raised.value)


def test_names_of_rules_differ() -> None:
    rule = {"name": "a", "pattern": "b"}
    with pytest.raises(ValidationError, match="'a' is used twice"):
        DetectorSettings.model_validate({"rules": [rule, rule]})
