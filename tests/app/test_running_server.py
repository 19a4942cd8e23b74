"""How a program finds the server of a repository."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from treadle.app.running_server import find_server


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
    with answering(b"{}", 401) as port:
        assert find_server(tmp_path, port) is None
    assert find_server(tmp_path, port) is None  # nothing listens
