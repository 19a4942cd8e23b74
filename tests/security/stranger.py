"""Another user of this machine, who sends requests to a server: a process of `nobody`.

Only root can become another user, so tests that need a stranger are skipped without root.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

NOBODY = 65_534

needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can act as another user"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The stranger's view of an answer; status 0 if the connection was closed instead."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def error(self) -> Any:
        return json.loads(self.body)["error"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request; `raw` gives its exact bytes."""

    method: str = "GET"
    path: str = "/"
    headers: Mapping[str, str] | None = None
    body: str | None = None
    raw: str | None = None
    leave: bool = False
    """Close the connection at once, without waiting for the answer."""


def send_as_stranger(address: str, requests: Sequence[Sent], *, uid: int = NOBODY) -> list[Seen]:
    """Send them one after the other, each over a connection of its own."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    told = {
        "host": host.strip("[]"),
        "port": int(port),
        "uid": uid,
        "requests": [{name: getattr(each, name) for name in _FIELDS} for each in requests],
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return [Seen(**each) for each in json.loads(done.stdout)]


_FIELDS = ("method", "path", "headers", "body", "raw", "leave")

_PROGRAM = """
import encodings.idna, http.client, io, json, os, socket, sys  # read before the rights are gone

told = json.load(sys.stdin)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(told["uid"])
    os.setuid(told["uid"])


def send(request):
    with socket.create_connection((told["host"], told["port"]), timeout=20) as connection:
        if request["raw"] is not None:
            head = request["raw"]
        else:
            body = request["body"] or ""
            name = f"[{told['host']}]" if ":" in told["host"] else told["host"]
            headers = {"Host": f"{name}:{told['port']}", "Content-Length": str(len(body.encode()))}
            lines = {**headers, **(request["headers"] or {})}.items()
            head = f"{request['method']} {request['path']} HTTP/1.1\\\\r\\\\n"
            head += "".join(f"{name}: {value}\\\\r\\\\n" for name, value in lines)
            head += "\\\\r\\\\n" + body
        connection.sendall(head.encode())
        if request["leave"]:
            return {"status": 0, "headers": {}, "body": ""}
        answer = http.client.HTTPResponse(connection, method=request["method"])
        try:
            answer.begin()
            length = answer.getheader("content-length")
            text = answer.read(200_000).decode() if length else ""
        except (http.client.HTTPException, OSError):
            return {"status": 0, "headers": {}, "body": ""}
        return {"status": answer.status, "headers": dict(answer.getheaders()), "body": text}


print(json.dumps([send(each) for each in told["requests"]]))
""".replace("\\\\", "\\")
