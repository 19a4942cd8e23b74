"""The system prompt."""

from treadle.session.role import system_prompt
from treadle.tokens import estimate


def test_the_prompt_mentions_only_offered_tools() -> None:
    assert "request_code_context" in system_prompt("/repo", ["request_code_context"])
    assert "request_code_context" not in system_prompt("/repo", [])


def test_the_prompt_is_concise_and_names_the_repository() -> None:
    prompt = system_prompt("/repo", ["request_code_context"])
    assert "/repo" in prompt
    assert estimate(prompt) < 400
