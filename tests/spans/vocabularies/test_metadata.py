"""The user, the release and the metadata of mapped spans."""

import json
from dataclasses import replace

import pytest

from tests.spans.vocabularies.spelling import model
from treadle.spans.span import MAX_METADATA, JsonValue, Span
from treadle.spans.vocabularies.mapper import to_span


def mapped(attributes: dict[str, JsonValue], **resource: JsonValue) -> Span:
    return to_span(
        replace(model(attributes), resource={k.replace("__", "."): v for k, v in resource.items()})
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"user": "alice"},
        {"user.id": "alice"},
        {"enduser.id": "alice"},
        {"langfuse.user.id": "alice"},
        {"mlflow.trace.user": '"alice"'},
        {"traceloop.association.properties.user_id": "alice"},
        {"ai.telemetry.metadata.userId": "alice"},
        {"metadata": '{"user_id": "alice"}'},
        {"http.request.header.x-user-id": ["alice"]},
    ],
)
def test_user_is_read(attributes: dict[str, JsonValue]) -> None:
    assert mapped(attributes).user == "alice"


@pytest.mark.parametrize(
    "attributes",
    [
        {"metadata": '{"tenant": "acme", "plan": {"name": "pro", "seats": 5}, "trial": false}'},
        {"metadata": {"tenant": "acme", "plan.name": "pro", "plan.seats": 5, "trial": False}},
        *(
            {
                f"{name}.tenant": "acme",
                f"{name}.plan": {"name": "pro", "seats": 5},
                f"{name}.trial": False,
            }
            for name in (
                "metadata",
                "langfuse.trace.metadata",
                "langfuse.observation.metadata",
                "ai.telemetry.metadata",
                "traceloop.association.properties",
            )
        ),
    ],
)
def test_metadata_is_flat(attributes: dict[str, JsonValue]) -> None:
    assert mapped(attributes).metadata == {
        "tenant": "acme",
        "plan.name": "pro",
        "plan.seats": 5,
        "trial": False,
    }


def test_metadata_of_an_observation_precedes_that_of_its_trace() -> None:
    span = mapped(
        {
            "langfuse.trace.metadata.tenant": "acme",
            "langfuse.trace.metadata.plan": "pro",
            "langfuse.observation.metadata": '{"tenant": "globex"}',
        }
    )
    assert span.metadata == {"tenant": "globex", "plan": "pro"}


def test_langfuse_metadata_is_decoded() -> None:
    sent: dict[str, JsonValue] = {
        "langfuse.trace.metadata.tenant": '"acme"',
        "langfuse.trace.metadata.plan": '{"seats": 5}',
    }
    assert mapped(sent).metadata == {"tenant": "acme", "plan.seats": 5}


@pytest.mark.parametrize("user", ["alice", 7])
def test_metadata_omits_the_values_of_other_fields(user: JsonValue) -> None:
    prefix = "traceloop.association.properties"
    span = mapped(
        {
            f"{prefix}.tenant": "acme",
            f"{prefix}.session_id": "s",
            f"{prefix}.user_id": user,
            f"{prefix}.release": "1.4",
        }
    )
    assert (span.thread_id, span.user, span.release) == ("s", str(user), "1.4")
    assert span.metadata == {"tenant": "acme"}


def test_metadata_keeps_a_user_that_another_attribute_overrides() -> None:
    span = mapped({"user.id": "alice", "metadata": {"user_id": "bob"}})
    assert (span.user, span.metadata) == ("alice", {"user_id": "bob"})


def test_metadata_is_bounded() -> None:
    values: dict[str, JsonValue] = {f"key{n}": n for n in range(100)}
    limited = mapped({"metadata": json.dumps(values)})
    assert limited.metadata == {f"key{n}": n for n in range(MAX_METADATA)}
    left_out: dict[str, JsonValue] = {
        "k" * 101: 1,
        "text": "x" * 513,
        "list": [1],
        "none": None,
        "": 1,
        "big": 1 << 64,
    }
    span = mapped({"metadata": {**left_out, "kept": "x" * 512}})
    assert span.metadata == {"kept": "x" * 512}
    assert span.attributes["metadata"] == {**left_out, "kept": "x" * 512}


@pytest.mark.parametrize(
    ("attributes", "resource"),
    [
        ({"langfuse.release": "1.4"}, {}),
        ({"release": "1.4"}, {"service__version": "0.1"}),
        ({"metadata.release": "1.4"}, {}),
        ({}, {"service__version": "1.4"}),
        ({}, {"langfuse__release": "1.4", "service__version": "0.1"}),
    ],
)
def test_release_is_read(attributes: dict[str, JsonValue], resource: dict[str, JsonValue]) -> None:
    assert mapped(attributes, **resource).release == "1.4"


def test_span_without_such_attributes_has_neither() -> None:
    span = mapped({"gen_ai.request.model": "gpt-4o", "user.name": "Alice"}, service__name="shop")
    assert (span.user, span.release, span.metadata) == (None, None, {})
