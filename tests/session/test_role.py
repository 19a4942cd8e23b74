"""The system prompt."""

from treadle.session.role import brief_prompt, system_prompt
from treadle.tokens import estimate


def test_the_prompt_mentions_only_offered_tools() -> None:
    assert "request_code_context" in system_prompt("/repo", ["request_code_context"])
    assert "request_code_context" not in system_prompt("/repo", [])


def test_the_prompt_is_concise_and_names_the_repository() -> None:
    prompt = system_prompt("/repo", ["request_code_context"])
    assert "/repo" in prompt
    assert estimate(prompt) < 400


def test_prompt_of_a_project_without_a_repository_says_so() -> None:
    for prompt in (system_prompt(None, ()), brief_prompt(None, ())):
        assert "has no repository on this server" in prompt
        assert "The repository is at" not in prompt
