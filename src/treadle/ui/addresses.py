"""The addresses of the page, and which of them a tool may send a person to."""

from urllib.parse import urlsplit

from treadle.errors import UsageError
from treadle.ui.state import View

SCREENS = (
    "threads", "runs", "traces", "experiments", "analyst", "sessions", "proposals", "breakpoints",
    "tools", "models", "settings",
)  # fmt: skip
"""The first part of the path of every screen; the page begins at `/`."""

MOST_CHARACTERS = 2_000


def own_address(url: str) -> str:
    """`url`, if it is the path of a screen of the page, with or without a query.

    Raises UsageError for anything else: text of a trace must not lead a person elsewhere.
    """
    path = urlsplit(url).path if _plain(url) else ""
    parts = path.split("/")[1:]
    if not path or ".." in parts or (path != "/" and parts[0] not in SCREENS):
        raise UsageError(
            f"{url[:100]!r} is not an address of the page.",
            hint=f"Use a path such as /traces/ID; it begins with one of: {', '.join(SCREENS)}.",
        )
    return url


def view_at(location: str) -> View:
    """The list that a screen shows; that of runs where it shows none."""
    screen = location.partition("?")[0].split("/")[1]
    shown = {"threads": View.THREADS, "traces": View.SPANS}
    return shown.get(screen, View.RUNS)


def _plain(url: str) -> bool:
    """Whether it is a path of this server, as every browser reads it."""
    safe = url.isascii() and url.isprintable() and not set(url) & set(" \\<>\"'`")
    return safe and len(url) <= MOST_CHARACTERS and url.startswith("/") and url[1:2] != "/"
