"""The connection to a real NATS server: its start, its end, and the errors that a person sees."""

import asyncio
import logging
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.engines import NatsServer, free_port, nats_server
from treadle.errors import ConfigError
from treadle.nats.connection import BusError, answered, connect
from treadle.nats.names import ProjectNames

PASSWORD = "hunter2swordfish"


async def test_connection_stores_messages(nats: NatsServer) -> None:
    names = ProjectNames("connection_test")
    async with connect(nats.url, name="test") as connection:
        assert connection.is_connected
        await connection.jetstream.add_stream(
            name=names.stream("stored"), subjects=[names.subject("stored", ">")]
        )
        ack = await connection.jetstream.publish(names.subject("stored", "one"), b"1")
        assert ack.stream == "treadle_connection_test_stored"
    assert connection.client.is_closed


async def test_absent_server_is_an_error_without_the_credentials() -> None:
    url = f"nats://someone:{PASSWORD}@127.0.0.1:{free_port()}"
    with pytest.raises(BusError, match="cannot be reached") as caught:
        async with connect(url, name="test", start_seconds=0.1):
            pass
    assert "nats-server -js" in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "***@127.0.0.1" in str(caught.value)


async def test_refused_credentials_are_an_error_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with nats_server(tmp_path, "--user", "someone", "--pass", "another") as server:
        url = f"nats://someone:{PASSWORD}@127.0.0.1:{server.port}"
        with caplog.at_level(logging.DEBUG), pytest.raises(BusError, match="refuses") as caught:
            async with connect(url, name="test", start_seconds=60):
                pass
        assert PASSWORD not in f"{caught.value}{caplog.text}"
        async with connect(url.replace(PASSWORD, "another"), name="test") as connection:
            assert connection.is_connected


@pytest.mark.parametrize("login", ["user", "token"])
async def test_credentials_may_contain_percent_encoded_characters(
    tmp_path: Path, login: str
) -> None:
    odd = "n@ts%41:Se/cret#X?y"
    options = ("--user", odd, "--pass", odd) if login == "user" else ("--auth", odd)
    encoded = quote(odd, safe="")
    credentials = f"{encoded}:{encoded}" if login == "user" else encoded
    with nats_server(tmp_path, *options) as server:
        url = f"nats://{credentials}@127.0.0.1:{server.port}"
        async with connect(url, name="test", start_seconds=60) as connection:
            assert connection.is_connected
            assert connection.servers == f"nats://***@127.0.0.1:{server.port}"


async def test_connection_returns_after_a_restart_of_the_server(tmp_path: Path) -> None:
    returned = asyncio.Event()

    async def note() -> None:
        returned.set()

    with nats_server(tmp_path) as server:
        async with connect(server.url, name="test") as connection:
            connection.on_reconnect(note)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            await asyncio.wait_for(returned.wait(), 30)
            await connection.client.flush()
            assert not connection.lost.is_set()


async def test_missing_extra_is_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "treadle.nats.client", raising=False)
    monkeypatch.setitem(sys.modules, "nats.aio.client", None)
    with pytest.raises(ConfigError, match=r"pip install 'treadle\[team\]'"):
        async with connect("nats://127.0.0.1:4222", name="test"):
            pass


@pytest.mark.parametrize("project", ["", "Upper", "a.b", "1st", "a" * 31, "a*"])
def test_invalid_project_has_no_names(project: str) -> None:
    with pytest.raises(ValueError, match="not the name of a project"):
        ProjectNames(project)


@pytest.mark.parametrize("token", ["", "a.b", "a b", "a>"])
def test_text_with_separators_is_not_part_of_a_subject(token: str) -> None:
    with pytest.raises(ValueError, match="cannot be part of a subject"):
        ProjectNames().subject("calls", token)


async def test_answer_does_not_hide_a_cancellation() -> None:
    """Before Python 3.12, `wait_for` returns an answer in place of a cancellation."""
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(answered(asyncio.wait_for(answer, 60)))
    await asyncio.sleep(0)
    answer.set_result("late")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
