"""Small pages of one notice, for a person who opens the server where the page cannot be shown."""

import secrets
from dataclasses import dataclass
from html import escape
from http import HTTPStatus

from starlette.responses import HTMLResponse

from treadle.server.security_headers import page_policy


@dataclass(frozen=True, slots=True)
class Notice:
    """What is the matter, what to do, and what to type for that, if anything."""

    title: str
    text: str
    command: str | None = None


NOT_BUILT = Notice(
    "The page is not built.",
    "This copy of Treadle runs from its sources, which do not include the built page. "
    "Everything else works: the API, described at /api/openapi.json, the gateway, the intake "
    "of traces, and MCP. For the page, install Treadle from a wheel, or build it in the folder "
    "of the sources and load this address again:",
    "make web",
)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; }
pre { padding: .75rem 1rem; border: 1px solid; border-radius: 6px; overflow: auto; }
"""


def notice(what: Notice, status: HTTPStatus) -> HTMLResponse:
    """The notice as a page."""
    nonce = secrets.token_urlsafe(16)
    command = "" if what.command is None else f"<pre><code>{escape(what.command)}</code></pre>"
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(what.title)} · Treadle</title>"
        f'<style nonce="{nonce}">{_STYLE}</style></head>'
        f"<body><main><h1>{escape(what.title)}</h1><p>{escape(what.text)}</p>{command}</main>"
        "</body></html>"
    )
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": page_policy(nonce)}
    return HTMLResponse(body, status_code=status, headers=headers)
