"""Backups of the stores of an installation, taken while a server uses them."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.cli.command import treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.server.exports import export, span
from tests.server.serving import Served, serving
from treadle.database.backup import MANIFEST

LISTS = (
    "/spans", "/runs", "/threads", "/labels", "/summary", "/run_totals", "/experiments",
)  # fmt: skip
TRACE = f"/traces/{1:032x}"


async def shown(served: Served) -> dict[str, Any]:
    """The lists that the page shows, and one trace."""
    return {path: await served.get(path) for path in (*LISTS, TRACE)}


async def fill(served: Served) -> None:
    for number in range(1, 6):
        spans = [span(number * 10 + each, trace=number, text="hello") for each in range(3)]
        answer = await served.http.post("/v1/traces", json=export(*spans))
        assert answer.is_success
    begun = await served.post("/turns", {"text": "How does add work?"})
    assert (await served.ended(begun["request_id"]))["state"] == "done"


async def test_backup_of_a_running_server_shows_the_same_after_it_is_restored(
    tmp_path: Path,
) -> None:
    first, second, saved = tmp_path / "first", tmp_path / "second", tmp_path / "saved"
    for folder in (first, second):
        (folder / "repo").mkdir(parents=True)
    async with FakeProvider([Answer("It adds.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-none-0123456789"}
        async with serving(first / "repo", **env) as served:
            await fill(served)
            before = await shown(served)
            backup = await asyncio.to_thread(
                treadle, "store", "backup", str(saved), "--json", home=first / "home"
            )
            assert backup.status == 0, backup.err
            await served.http.post("/v1/traces", json=export(span(999, trace=99)))
    files = {each["name"]: each["rows"] for each in json.loads(backup.out)["files"]}
    assert files["traces.db"]["spans"] == len(before["/spans"]["data"])
    restored = treadle("store", "restore", str(saved), "--json", home=second / "home")
    assert restored.status == 0, restored.err
    async with serving(second / "repo") as served:
        after = await shown(served)
    for path, content in before.items():
        assert after[path] == content, path


def test_backup_refuses_a_folder_with_files(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "notes.txt").write_text("mine")
    done = treadle("store", "backup", str(tmp_path / "saved"), home=tmp_path / "home")
    assert done.status == 2
    assert "is not empty" in done.err


def test_restore_refuses_an_installation_with_stores(tmp_path: Path) -> None:
    home, saved = tmp_path / "home", tmp_path / "saved"
    assert treadle("traces", "list", home=home).status == 0
    assert treadle("store", "backup", str(saved), home=home).status == 0
    done = treadle("store", "restore", str(saved), home=home)
    assert done.status == 2
    assert "already contains traces.db" in done.err


def test_restore_refuses_a_damaged_backup(tmp_path: Path) -> None:
    home, saved = tmp_path / "home", tmp_path / "saved"
    assert treadle("traces", "list", home=home).status == 0
    assert treadle("store", "backup", str(saved), home=home).status == 0
    manifest = json.loads((saved / MANIFEST).read_text())
    manifest["files"][0]["rows"]["spans"] = 5
    (saved / MANIFEST).write_text(json.dumps(manifest))
    done = treadle("store", "restore", str(saved), home=tmp_path / "other")
    assert done.status != 0
    assert "the table spans lacks rows" in done.err
    assert not list((tmp_path / "other").glob("**/*.db"))


def test_stores_in_postgresql_are_left_to_its_own_programs(tmp_path: Path) -> None:
    url = "postgresql://treadle:hunter2@127.0.0.1:1/treadle"
    done = treadle(
        "store", "backup", str(tmp_path / "saved"), home=tmp_path / "home", TREADLE_STORE__URL=url
    )
    assert done.status == 2
    assert "pg_dump" in done.err
    assert "hunter2" not in done.err
