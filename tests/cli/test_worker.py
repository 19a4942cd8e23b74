"""The command `treadle worker`, as a process on a real NATS server."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.cli.command import environment, start_of, treadle
from tests.engines import NatsServer, free_port
from tests.workers.team import clone, make_repository, within
from treadle.app.application import Toolset, open_app
from treadle.app.stores import Stores
from treadle.events.types import ToolCallAssigned, ToolCallCompleted
from treadle.nats.connection import connect

CHECK = '[checks.commands.hello]\ncommand = ["python3", "-c", "print(2 + 3)"]\n'


def test_worker_without_a_bus_names_the_setting(tmp_path: Path) -> None:
    ran = treadle("worker", "--repos", str(make_repository(tmp_path)), home=tmp_path / "home")
    assert ran.status == 2
    assert "TREADLE_BUS__URL=nats://HOST:4222" in ran.err


def test_worker_reports_an_absent_nats_server(tmp_path: Path) -> None:
    url = f"nats://me:secret@127.0.0.1:{free_port()}"
    root = str(make_repository(tmp_path))
    ran = treadle("worker", "--repos", root, home=tmp_path / "home", TREADLE_BUS__URL=url)
    assert ran.status == 1
    assert "nats-server -js" in ran.err
    assert "secret" not in ran.err


def test_worker_refuses_a_folder_without_commits(nats: NatsServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ran = treadle("worker", "--repos", str(tmp_path), home=home, TREADLE_BUS__URL=nats.url)
    assert ran.status == 1
    assert "not a git repository with a commit" in ran.err


async def test_worker_runs_a_check_of_a_server_and_ends_at_a_signal(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "server-home"))
    root = make_repository(tmp_path)
    copy, home, project = clone(root, tmp_path / "clone"), tmp_path / "home", "cli_worker"
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(CHECK)
    env: dict[str, str] = {"TREADLE_BUS__URL": nats.url}
    process = await asyncio.create_subprocess_exec(
        *start_of(env), "worker", "--repos", str(copy), "--project", project, "--json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(home, **env),
    )  # fmt: skip
    assert process.stdout is not None
    ready = json.loads(await within(process.stdout.readline()))
    stores = Stores(tmp_path / "stores", project=project)
    async with (
        connect(nats.url, name="server") as connection,
        open_app(root, toolset=Toolset.CODE, stores=stores, nats=connection) as app,
    ):
        with app.bus.subscribe(ToolCallAssigned) as events:
            outcome = await within(app.executor.call("run_check", "{}"))
            assert isinstance(outcome, ToolCallCompleted), outcome
            assert [each["name"] for each in json.loads(outcome.content)["checks"]] == ["hello"]
            envelope = await within(anext(aiter(events)))
    assert isinstance(envelope.event, ToolCallAssigned)
    assert envelope.event.worker == ready["worker"]
    process.send_signal(signal.SIGTERM)
    _, err = await within(process.communicate())
    assert process.returncode == 0
    assert b"Finished calls: 1." in err
