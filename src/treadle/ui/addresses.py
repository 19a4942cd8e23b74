"""The addresses of the page's screens, and a check of the addresses that a tool may open."""

from urllib.parse import urlsplit

from treadle.errors import UsageError
from treadle.ui.state import View

SCREENS = (
    "threads", "runs", "spans", "traces", "compare", "experiments", "analyst", "sessions",
    "proposals", "breakpoints", "tools", "models", "settings",
)  # fmt: skip
"""The first part of the path of every screen. The path of the start page is `/`."""

MAX_CHARACTERS = 2_000


def own_address(url: str) -> str:
    """Return `url` if it is the path of a screen, with or without a query.

    Raises UsageError for any other address, because text of a trace must not lead a person to
    another site.
    """
    path = urlsplit(url).path if _is_safe(url) else ""
    parts = path.split("/")[1:]
    if not path or ".." in parts or (path != "/" and parts[0] not in SCREENS):
        raise UsageError(
            f"{url[:100]!r} is not an address of the page.",
            hint=f"Use a path such as /traces/ID; it begins with one of: {', '.join(SCREENS)}.",
        )
    return url


def view_at(location: str) -> View:
    """Return the list that the screen at `location` shows.

    If the screen shows no list, the result is the list of runs.
    """
    screen = location.partition("?")[0].split("/")[1]
    shown = {"threads": View.THREADS, "spans": View.SPANS, "traces": View.SPANS}
    return shown.get(screen, View.RUNS)


def _is_safe(url: str) -> bool:
    """Whether every browser reads `url` as a path of this server."""
    safe = url.isascii() and url.isprintable() and not set(url) & set(" \\<>\"'`")
    return safe and len(url) <= MAX_CHARACTERS and url.startswith("/") and url[1:2] != "/"
