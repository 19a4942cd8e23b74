"""Records the servers that run on this machine, and finds the server of a repository."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from treadle.errors import PathRefusedError
from treadle.owner_only import private_file
from treadle.paths import user_data_dir

DEFAULT_PORT = 7070
"""The port of `treadle serve`, unless the person chooses another one."""
_SECONDS = 1.0
_HEALTH = "/api/v1/health"


@contextmanager
def recorded_server(root: Path, address: str) -> Iterator[None]:
    """Record that this process serves `root` at `address`, until the context ends.

    Only the user of this process can read the record. Nothing is recorded if the data folder cannot
    be used.
    """
    record = _folder() / f"{os.getpid()}.json"
    with suppress(OSError, PathRefusedError):
        private_file(record).write_text(json.dumps({"root": str(root), "address": address}))
    try:
        yield
    finally:
        with suppress(OSError):
            record.unlink(missing_ok=True)


def find_server(root: Path, port: int = DEFAULT_PORT) -> str | None:
    """Return the address of a server that serves `root`, or None.

    The function asks the server on `port`, and then each recorded server, which root it serves. A
    server that requires a token from this program is not found.
    """
    addresses = [f"http://127.0.0.1:{port}", *_recorded(root)]
    return next((each for each in addresses if _served_root(each) == str(root)), None)


def _recorded(root: Path) -> Iterator[str]:
    """Yield the recorded addresses for `root`. Records of processes that ended are deleted."""
    with suppress(OSError):
        for record in sorted(_folder().glob("*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError):
                if not _runs(int(record.stem)):
                    record.unlink(missing_ok=True)
                    continue
                found = json.loads(record.read_text())
                if found["root"] == str(root):
                    yield str(found["address"])


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _served_root(address: str) -> str | None:
    """Return the root that the server at an address states, or None if no server answers."""
    import httpx2

    try:
        answer = httpx2.get(f"{address}{_HEALTH}", timeout=_SECONDS, trust_env=False)
        found = answer.json() if answer.status_code == httpx2.codes.OK else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return None
    root = found.get("root") if isinstance(found, dict) else None
    return root if isinstance(root, str) else None


def _folder() -> Path:
    return user_data_dir() / "servers"
