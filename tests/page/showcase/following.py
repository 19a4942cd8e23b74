"""Waiting until a server has done what it was asked."""

import time
from collections.abc import Callable
from typing import Any

from tests.page.served import Served


def ended(served: Served, begun: Any) -> Any:
    turn = served.get(f"/turns/{begun['request_id']}", wait=50)
    assert turn["state"] == "done", turn
    return turn


def eventually(served: Served, path: str, body: object) -> Any:
    """The answer, as soon as its subject is recorded."""
    found: list[Any] = []

    def tried() -> bool:
        answer = served.http.post(f"/api/v1{path}", json=body)
        if answer.is_success:
            found.append(answer.json())
        return answer.is_success

    wait_until(tried)
    return found[0]


def wait_until(done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise TimeoutError("the server did not get so far within 30 s")
