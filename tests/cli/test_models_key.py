"""`treadle models key`: a key is read from standard input, kept, and found by the next command."""

import json
import stat
from pathlib import Path

from tests.cli.command import ended, start, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer

KEY = "plain-words-of-a-key-1"


async def test_next_command_finds_an_entered_key(tmp_path: Path) -> None:
    home, repo = tmp_path / "home", tmp_path / "repo"
    repo.mkdir()
    (home / "config").mkdir(parents=True)
    async with FakeProvider([Answer("Hi")]) as fake:
        (home / "config" / "config.toml").write_text(
            f'model = "desk/m"\n[providers.desk]\nbase_url = "{fake.base_url}"\n'
            'api_key_env = "DESK_KEY"\n'
        )
        without = treadle("ask", "Hi", home=home, repo=repo)
        assert without.status == 4
        assert "treadle models key set desk" in without.err
        kept = treadle("models", "key", "set", "desk", "--json", home=home, stdin=f"{KEY}\n")
        assert kept.status == 0, kept.err
        assert json.loads(kept.out) == {
            "provider": "desk",
            "kept": "stored",
            "base_url": fake.base_url,
        }
        asked = await ended(await start("ask", "Hi", home=home, repo=repo))
        assert asked.status == 0, asked.err
        assert fake.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    file = home / "config" / "providers.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    others = (each for each in home.rglob("*") if each.is_file() and each != file)
    assert not [each for each in others if KEY.encode() in each.read_bytes()]
    gone = treadle("models", "key", "delete", "desk", home=home)
    assert (gone.status, gone.out) == (0, "The key of desk is deleted.\n")
    assert KEY not in file.read_text()


def test_key_is_not_an_argument(tmp_path: Path) -> None:
    refused = treadle("models", "key", "set", "openai", KEY, home=tmp_path)
    assert refused.status == 2
    assert not (tmp_path / "config" / "providers.key").exists()


def test_key_command_needs_an_action(tmp_path: Path) -> None:
    assert "set, delete" in treadle("models", "key", home=tmp_path).err
