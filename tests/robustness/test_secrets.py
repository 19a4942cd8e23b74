"""API keys that a person pastes, or that a model repeats, are on no disk afterwards."""

from pathlib import Path

from tests.cli.command import ended, start, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call

KEYS = (
    "a-configured-key-0123456789",
    "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
)


async def test_no_file_of_treadle_contains_an_api_key(tmp_path: Path) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    repo.mkdir()
    (repo / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    told = " and ".join(KEYS)
    call = Call("request_code_context", {"token_budget": 500, "hint": f"add {told}"})
    async with FakeProvider([Answer(f"I use {told}.", (call,)), Answer(f"They are {told}.")]) as at:
        process = await start(
            "ask",
            f"Are these right: {told}?",
            home=home,
            repo=repo,
            TREADLE_BASE_URL=at.base_url,
            TREADLE_API_KEY=KEYS[0],
        )
        assert (await ended(process)).status == 0
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"conversations.db", "traces.db"}
    held = {(path.name, key) for path in files for key in KEYS if key.encode() in path.read_bytes()}
    assert held == set()
    assert "redacted" in treadle("sessions", "show", "last", home=home, repo=repo).out
