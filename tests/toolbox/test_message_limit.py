"""Each tool's message is JSON and within the limit of a session, whatever the limit is."""

import json
from pathlib import Path

import pytest

from tests.toolbox.workbench import LARGE, workbench
from treadle.paths import HOME_VARIABLE
from treadle.tokens import estimate

LIMITS = (60, 330, 4_000)


@pytest.mark.parametrize(
    "limits", [LIMITS, pytest.param((25, 100, 200, 1_000, 16_000), marks=pytest.mark.slow)]
)
async def test_every_tool_message_is_json_within_any_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: tuple[int, ...]
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    async with workbench(tmp_path / "repository") as bench:
        assert set(LARGE) == set(bench.app.registry.names())
        for name, arguments in LARGE.items():
            for limit in limits:
                message = await bench.message(name, arguments, limit)
                assert estimate(message) <= limit, (name, limit)
                assert json.loads(message)["ok"] in {True, False}, (name, limit)


async def test_tools_with_a_budget_stay_within_the_message_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    async with workbench(tmp_path / "repository") as bench:
        for spec in bench.app.registry.specs():
            if {"token_budget", "max_tokens", "maxTokens"} & set(spec.parameters["properties"]):
                message = await bench.message(spec.name, LARGE[spec.name], 1_500)
                assert json.loads(message).get("type") != "excerpt", spec.name
