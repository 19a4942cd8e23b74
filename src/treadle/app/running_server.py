"""Finds a running `treadle serve` of a repository on this machine."""

from pathlib import Path

DEFAULT_PORT = 7070
"""The port of `treadle serve`, unless the person chooses another one."""
_SECONDS = 1.0
_HEALTH = "/api/v1/health"


def find_server(root: Path, port: int = DEFAULT_PORT) -> str | None:
    """Return the address of the server that serves `root` on this port, or None.

    A server that requires a token from this program is not found.
    """
    import httpx2

    address = f"http://127.0.0.1:{port}"
    try:
        answer = httpx2.get(f"{address}{_HEALTH}", timeout=_SECONDS, trust_env=False)
        found = answer.json() if answer.status_code == httpx2.codes.OK else None
    except (httpx2.HTTPError, ValueError):
        return None
    return address if isinstance(found, dict) and found.get("root") == str(root) else None
