"""Stores that are backed up, examined, upgraded, and copied to PostgreSQL."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cli.command import environment, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.server.exports import export, span
from tests.server.serving import Served, serving
from tests.spans.runs import span as run_span
from treadle.database import Schema
from treadle.database.backup import MANIFEST
from treadle.database.sqlite import SqliteDatabase
from treadle.traces import TraceStore
from treadle.ui import store as ui

LISTS = (
    "/spans", "/runs", "/threads", "/labels", "/summary", "/run_totals", "/experiments",
)  # fmt: skip
TRACE = f"/traces/{1:032x}"


async def shown(served: Served) -> dict[str, Any]:
    """The lists that the page shows, and one trace."""
    return {path: await served.get(path) for path in (*LISTS, TRACE)}


async def _has_unfinished(served: Served) -> bool:
    spans = (await served.get("/spans"))["data"]
    return any(each["status"] == "unfinished" for each in spans)


async def fill(served: Served) -> None:
    for number in range(1, 6):
        spans = [span(number * 10 + each, trace=number, text="hello") for each in range(3)]
        answer = await served.http.post("/v1/traces", json=export(*spans))
        assert answer.is_success
    begun = await served.post("/turns", {"text": "How does add work?"})
    assert (await served.ended(begun["request_id"]))["state"] == "done"
    while await _has_unfinished(served):  # noqa: ASYNC110  (only the store knows)
        await asyncio.sleep(0.05)  # the span is stored shortly after the turn


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


@pytest.mark.slow
def test_stores_are_checked_copied_to_postgresql_and_back(
    tmp_path: Path, postgres_url: str
) -> None:
    home, project = tmp_path / "home", f"p{uuid4().hex[:20]}"
    assert treadle("projects", "add", project, home=home).status == 0
    folder = home / "data" / "projects" / project
    with closing(TraceStore.open(folder / "traces.db")) as store:
        store.write([run_span(f"s{number}") for number in range(5_000)]).result()
    url = postgres_url.replace("treadle@", "treadle:hunter2@")
    copy = ("store", "copy", "--to", url, "--project", project)
    killed = 0
    for delay in (0.9, 1.1, 1.3, 1.5, 1.7):
        process = subprocess.Popen(
            [sys.executable, "-m", "treadle.cli.main", *copy],
            env=environment(home),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    assert killed
    done = treadle(*copy, home=home)
    if done.status:  # the last process has completed the copy
        assert "already has data" in done.err
    assert "hunter2" not in done.out + done.err

    checked = treadle(
        "store",
        "check",
        "--deep",
        "--json",
        "--project",
        project,
        home=home,
        TREADLE_STORE__URL=url,
    )
    assert checked.status == 0, checked.out + checked.err
    back = tmp_path / "back"
    returned = treadle(
        "store",
        "copy",
        "--to",
        f"sqlite:{back}",
        "--project",
        project,
        home=home,
        TREADLE_STORE__URL=url,
    )
    assert returned.status == 0, returned.err
    with closing(TraceStore.open(back / "projects" / project / "traces.db")) as store:
        assert store.spans(limit=1).pagination.total == 5_000
    assert "hunter2" not in checked.out + checked.err + returned.out + returned.err

    again = treadle(*copy, home=home)
    assert again.status == 2
    assert "already has data" in again.err
    same = treadle("store", "copy", "--to", f"sqlite:{home / 'data'}", home=home)
    assert same.status == 2
    assert "same place" in same.err


def test_check_fails_for_a_store_that_lacks_a_table(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert treadle("traces", "list", home=home).status == 0
    assert treadle("store", "check", home=home).status == 0
    with closing(sqlite3.connect(home / "data" / "traces.db")) as connection:
        connection.execute("DROP TABLE redactions")
    done = treadle("store", "check", home=home)
    assert done.status == 1
    assert "it lacks the tables redactions" in done.out


def test_migrate_upgrades_the_stores_that_exist(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = home / "data" / "ui.db"
    SqliteDatabase(path, Schema.of_migrations("page state", ui.MIGRATIONS[:1])).open().close()
    done = treadle("store", "migrate", home=home)
    assert done.out == "1 stores are up to date.\n"
    assert SqliteDatabase(path, ui.SCHEMA).stored_version() == ui.SCHEMA.version


@pytest.mark.slow
def test_doctor_describes_postgresql_without_its_password(
    tmp_path: Path, postgres_url: str
) -> None:
    home, repo = tmp_path / "home", tmp_path / "repo"
    repo.mkdir()
    url = postgres_url.replace("treadle@", "treadle:hunter2@")
    doctor = treadle("doctor", "--json", home=home, repo=repo, TREADLE_STORE__URL=url)
    found = json.loads(doctor.out)
    store, records = (
        next(each for each in found["findings"] if each["name"] == name)
        for name in ("store", "records")
    )
    assert store["verdict"] == "ok"
    assert "row-level security separates the projects" in store["detail"]
    assert "PostgreSQL 1" in store["detail"]
    assert "spans " in records["detail"]
    superuser = postgres_url.replace("treadle@", "postgres@")
    warned = treadle("doctor", "--json", home=home, repo=repo, TREADLE_STORE__URL=superuser)
    assert "row-level security does not apply to this user" in warned.out
    assert "hunter2" not in json.dumps(found)


def test_settings_are_shown_without_the_password_of_an_address(tmp_path: Path) -> None:
    url = "postgresql://treadle:hunter2@db.internal/treadle?password=hunter2"
    for words in (("config", "show"), ("config", "show", "--json")):
        shown = treadle(*words, home=tmp_path / "home", repo=tmp_path, TREADLE_STORE__URL=url)
        assert shown.status == 0
        assert "hunter2" not in shown.out
        assert "db.internal/treadle" in shown.out
