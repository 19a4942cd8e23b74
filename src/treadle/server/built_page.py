"""Serves the built web page: the addresses of its screens, and its files.

The server only compares the address of a request with the names of existing files. It never builds
a file path from a part of an address.
"""

import asyncio
import gzip
import os
import re
import secrets
from http import HTTPStatus
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.server.path_ids import rest_of_path
from treadle.server.peers import OWN_PEER
from treadle.server.security_headers import page_policy
from treadle.ui.addresses import SCREENS

FOLDER = Path(__file__).parent / "page"
"""The folder into which `make web` writes the built page. A wheel contains this folder."""

_ENTRANCES = ("/", "/sign-in")
"""The paths of the start page, and of the page on which people sign in."""

_NONCE = "__CSP_NONCE__"
"""The placeholder that the build writes instead of a nonce (`html.cspNonce` of Vite)."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""The content type of each file suffix.

The types that the operating system reports may be wrong, and a browser does not run a script with a
wrong content type.
"""

_TRACE = re.compile(rb"/(traces/[A-Za-z0-9][\w.~-]*)", re.ASCII)
"""Matches the path of a trace whose id needs no percent-encoding."""

_PROGRAMS = ("/api/", "/v1/", "/v1beta/", "/v1alpha/", "/v2/", "/mcp", "/assets/")
"""The prefixes of addresses that only programs request."""

_ASSET = {"Cache-Control": "max-age=31536000, immutable", "Vary": "Accept-Encoding"}
"""The headers of assets. An asset never changes, since its name has a hash of its content."""

_COMPRESSED = frozenset({".css", ".js", ".json", ".svg", ".txt"})

_NOT_BUILT = (
    "This copy of Treadle runs from its sources, which do not include the built page. "
    "Everything else works: the API, described at /api/openapi.json, the gateway, the intake "
    "of traces, and MCP. For the page, install Treadle from a wheel, or build it in the folder "
    "of the sources and load this address again:"
)
_NOTICE_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; }
pre { padding: .75rem 1rem; border: 1px solid; border-radius: 6px; overflow: auto; }
"""


def is_of_page(path: str) -> bool:
    """Whether the built page serves this address: as a screen, or as one of its files.

    Anyone may request such an address. The files are the same in every copy of Treadle, so they
    reveal nothing about the user.
    """
    first, slash, _ = path.removeprefix("/").partition("/")
    if not path.startswith("/"):
        return False
    return (
        path in _ENTRANCES
        or first in SCREENS
        or first == "assets"
        or (not slash and _is_file(first))
    )


class BuiltPage:
    """The built page in `folder`. A build may replace the files while the server runs."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._packed: dict[str, bytes] = {}
        """The compressed assets by name.

        They are cached, since every load of the page requests them.
        """

    def routes(self) -> list[Route]:
        """Return the routes of all addresses for which `is_of_page` is true."""
        screens = [
            f"/{screen}{below}" for screen in SCREENS for below in ("", "/" + rest_of_path("below"))
        ]
        files = ["/assets/{name:path}", *(f"/{{name}}{ending}" for ending in _TYPES)]
        return [
            *(
                Route(path, self._screen, include_in_schema=False)
                for path in (*_ENTRANCES, *screens)
            ),
            *(Route(path, self._file, include_in_schema=False) for path in files),
        ]

    def or_else(self, otherwise: ASGIApp) -> ASGIApp:
        """Return the application that answers a request if no route matches it.

        If a person opens an unknown address in a browser, the response is the page, which reports
        the error. Other requests go to `otherwise`.
        """

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or not _is_opened(Request(scope)):
                await otherwise(scope, receive, send)
                return
            page = await self._screen(Request(scope))
            if page.status_code == HTTPStatus.OK:
                page.status_code = HTTPStatus.NOT_FOUND
            await page(scope, receive, send)

        return answer

    async def _screen(self, request: Request) -> Response:
        try:
            index = await asyncio.to_thread((self._folder / "index.html").read_text, "utf-8")
        except FileNotFoundError:
            return _not_built()
        nonce = secrets.token_urlsafe(16)
        headers = {"Cache-Control": "no-store", "Content-Security-Policy": page_policy(nonce)}
        # A browser cannot send the page key when it opens a page, so only the owner of the
        # connection can prove that the request comes from this user. Without this proof, the
        # browser could not load the trace, so the response has no `Link` header.
        known = request.scope.get("state", {}).get(OWN_PEER) is True
        if known and (trace := _TRACE.fullmatch(request.scope["raw_path"])):
            # With this header, the browser requests the trace while the scripts load. The scripts
            # then use its response.
            address = f"</api/v1/{trace[1].decode()}>"
            headers["Link"] = f"{address}; rel=preload; as=fetch; crossorigin=anonymous"
        return HTMLResponse(index.replace(_NONCE, nonce), headers=headers)

    async def _file(self, request: Request) -> Response:
        *folders, name = request.scope["path"].removeprefix("/").split("/", 1)
        takes_gzip = "gzip" in request.headers.get("accept-encoding", "")
        # A screen requests many assets, so cached assets are served without disk access.
        if folders and takes_gzip and name in self._packed:
            return _asset(self._packed[name], name)
        # `folders` is "assets" or empty, since no other route leads here.
        folder = self._folder.joinpath(*folders)
        path = await asyncio.to_thread(_find_file, folder, name)
        if path is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "The page has no such file.")
        kind = _TYPES[path.suffix]
        if not folders:
            return FileResponse(path, media_type=kind, headers={"Cache-Control": "no-cache"})
        if takes_gzip and path.suffix in _COMPRESSED:
            self._packed[name] = await asyncio.to_thread(_compressed, path)
            return _asset(self._packed[name], name)
        return FileResponse(path, media_type=kind, headers=_ASSET)


def _is_opened(request: Request) -> bool:
    """Whether a browser requests a page at an address without a prefix in `_PROGRAMS`."""
    reads = request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("accept", "")
    return reads and not request.url.path.startswith(_PROGRAMS)


def _asset(packed: bytes, name: str) -> Response:
    headers = {**_ASSET, "Content-Encoding": "gzip"}
    return Response(packed, media_type=_TYPES[Path(name).suffix], headers=headers)


def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


def _is_file(name: str) -> bool:
    return Path(name).suffix in _TYPES


def _find_file(folder: Path, name: str) -> Path | None:
    """Return the path of the file `name` in the folder, or None if it does not exist."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == name and _is_file(name) and entry.is_file(follow_symlinks=False):
                    return Path(entry.path)
    except FileNotFoundError:
        pass
    return None


def _not_built() -> HTMLResponse:
    """Return an HTML page that explains how to build the web page."""
    nonce = secrets.token_urlsafe(16)
    title = "The page is not built."
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · Treadle</title>"
        f'<style nonce="{nonce}">{_NOTICE_STYLE}</style></head>'
        f"<body><main><h1>{title}</h1><p>{_NOT_BUILT}</p>"
        "<pre><code>make web</code></pre></main></body></html>"
    )
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": page_policy(nonce)}
    return HTMLResponse(body, HTTPStatus.SERVICE_UNAVAILABLE, headers=headers)
