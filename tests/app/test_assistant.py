"""A model with a small window gets fewer tools and a shorter prompt."""

import json

import pytest

from bench.schemas import first_request
from scripts.write_tool_reference import registry
from treadle.app.assistant import PROMPT_SHARE, TOOL_PRIORITY, fit_to_window
from treadle.app.tool_groups import REPOSITORY_GROUPS, in_groups
from treadle.llm.messages import ToolSpec, UserMessage
from treadle.session.history import build_prompt, output_reserve
from treadle.session.message_tokens import tools_tokens
from treadle.session.role import Role
from treadle.session.tool_specs import tool_specs
from treadle.tokens import estimate
from treadle.tools.contract import Registry

QUESTION = "Where does the parser of the configuration decide which of two values counts? " * 54


@pytest.fixture(scope="module")
def tools() -> Registry:
    return in_groups(registry(), REPOSITORY_GROUPS)


def specs(offered: Registry, role: Role) -> tuple[ToolSpec, ...]:
    return tool_specs(offered, brief=role.brief)


def test_priority_covers_every_tool_of_the_repository(tools: Registry) -> None:
    assert set(TOOL_PRIORITY) == set(tools.names())


@pytest.mark.parametrize("window", [2_048, 4_096, 6_000, 8_192, 12_000, 16_384, 128_000])
def test_prompt_and_schemas_take_at_most_their_share_of_the_window(
    tools: Registry, window: int
) -> None:
    offered, role = fit_to_window("/path/to/repository", tools, window)
    assert estimate(role.system) + tools_tokens(specs(offered, role)) <= window * PROMPT_SHARE
    assert offered.names()[0] == "request_code_context"
    for name in ("apply_code_edit", "apply_patch", "run_check"):
        assert name in offered.names() or name not in role.system


def test_a_large_window_has_every_tool_and_the_whole_prompt(tools: Registry) -> None:
    offered, role = fit_to_window("/r", tools, 32_000)
    assert offered.names() == tools.names()
    assert "#START:END" in role.system


@pytest.mark.parametrize("window", [4_096, 6_000, 8_192])
def test_small_window_accepts_seven_hundred_words(tools: Registry, window: int) -> None:
    assert len(QUESTION.split()) >= 700
    offered, role = fit_to_window("/path/to/repository", tools, window)
    prompt = build_prompt(
        role.system, [UserMessage(QUESTION)], specs(offered, role), context_window=window
    )
    assert prompt.estimated_tokens <= window - output_reserve(window)
    assert prompt.left_out == 0
    if window >= 6_000:
        assert prompt.room > 1_000  # the room for results of calls
        assert {"read_file", "grep"} <= set(offered.names())
        assert {"apply_code_edit", "apply_patch"} & set(offered.names())


def test_tools_of_a_front_end_come_after_those_of_the_repository(tools: Registry) -> None:
    first = Registry([*reversed(list(tools))])
    offered, _ = fit_to_window("/r", first, 6_000)
    assert "request_code_context" in offered.names()


@pytest.mark.parametrize(("window", "most"), [(8_000, 1_500), (128_000, 3_600)])
def test_first_request_stays_small(tools: Registry, window: int, most: int) -> None:
    """The figures in docs/benchmarks.md, counted with the o200k vocabulary as on the wire."""
    assert first_request(window, tools).tokens <= most


def test_window_of_eight_thousand_has_search_reading_edits_and_checks(tools: Registry) -> None:
    offered, role = fit_to_window("/r", tools, 8_000)
    assert role.brief
    needed = {"request_code_context", "read_file", "grep", "apply_code_edit", "create_file"}
    assert {*needed, "run_check"} <= set(offered.names())


def test_schemas_for_a_model_have_all_required_arguments(tools: Registry) -> None:
    for brief in (False, True):
        for schema, spec in zip(tools.specs(), tool_specs(tools, brief=brief), strict=True):
            full, shown = schema.parameters, spec.parameters
            assert shown.get("required") == full.get("required")
            assert isinstance(shown["properties"], dict)
            assert set(full.get("required", ())) <= set(shown["properties"])
            assert "additionalProperties" not in json.dumps(shown)
            if not brief:
                assert set(shown["properties"]) == set(full["properties"])
                assert spec.description == schema.description
