"""How a program finds the server of a repository."""

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from treadle.app.running_server import find_server, recorded_server
from treadle.cli.commands import chat
from treadle.errors import UsageError


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[int]:
    """Answer every request on loopback with `body`, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_the_server_of_the_repository_is_found(tmp_path: Path) -> None:
    with answering(json.dumps({"root": str(tmp_path)}).encode()) as port:
        assert find_server(tmp_path, port) == f"http://127.0.0.1:{port}"
        assert find_server(tmp_path / "other", port) is None


def test_another_program_on_the_port_is_not_a_server(tmp_path: Path) -> None:
    with answering(b"<html>") as port:
        assert find_server(tmp_path, port) is None
    for answer in (b"{}", b"[]", b'{"root": null}'):
        with answering(answer) as port:
            assert find_server(Path("None"), port) is None
    with answering(b"{}", 401) as port:
        assert find_server(tmp_path, port) is None
    assert find_server(tmp_path, port) is None  # nothing listens


def test_a_recorded_server_is_found_on_any_port_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    root, free = tmp_path / "repo", 1
    with answering(json.dumps({"root": str(root)}).encode()) as port:
        address = f"http://127.0.0.1:{port}"
        assert find_server(root, free) is None
        with recorded_server(root, address):
            (record,) = (tmp_path / "home").rglob("servers/*.json")
            assert stat.S_IMODE(record.stat().st_mode) == 0o600
            assert find_server(root, free) == address
            assert find_server(tmp_path / "other", free) is None
            ended = record.with_name(f"{2**22 + 1}.json")  # no process has this number
            record.rename(ended)
            assert find_server(root, free) is None
            assert not ended.exists()
        assert find_server(root, free) is None


def test_attach_without_an_address_needs_a_running_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    with pytest.raises(UsageError, match="No server runs"):
        chat.running_address(tmp_path / "repo")
