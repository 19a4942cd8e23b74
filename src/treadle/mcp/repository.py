"""Determines the repository of a client from the command line, its roots or the working folder."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp import types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from treadle.errors import UsageError
from treadle.paths import find_root, holds_home

Context = ServerRequestContext[Any, Any]

ROOTS = "roots"
"""The key under which a result contains the request for the client's roots.

Newer protocol versions send a request to the client as part of a result.
"""

_GIVE_ONE = "Start it as `treadle mcp --repo PATH`."


class Repository:
    """Determines the root once, and keeps it until the client reports changed roots."""

    def __init__(self, configured_root: Path | None, folder: Path) -> None:
        """`configured_root` is the root from the command line, or None if no root was given.

        `folder` is the working directory.
        """
        self._given = configured_root
        self._folder = folder
        self._found = configured_root

    @property
    def likely(self) -> Path:
        """The root to use before the client has been asked for its roots."""
        return self._found or find_root(self._folder)

    def forget(self) -> None:
        """Forget the client's roots, so that the next call asks for them again."""
        self._found = self._given

    async def root(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Path | types.InputRequiredResult:
        """Return the root for a call, or a request that the client must answer first.

        Raises UsageError if there is no usable folder.
        """
        if self._found is None:
            roots = await self._ask(context, params)
            if isinstance(roots, types.InputRequiredResult):
                return roots
            self._found = _first_folder(roots) if roots else _enclosing(self._folder)
        return self._found

    async def _ask(
        self, context: Context, params: types.CallToolRequestParams
    ) -> list[types.Root] | types.InputRequiredResult:
        """Return the client's roots, or a request for them (protocol 2026-07-28 and newer)."""
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.roots is None:
            return []
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            answer = (params.input_responses or {}).get(ROOTS)
            if isinstance(answer, types.ListRootsResult):
                return answer.roots
            return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})
        try:
            listed = await context.session.send_request(
                types.ListRootsRequest(), types.ListRootsResult
            )
        except MCPError:  # the client claims roots, but cannot list them
            return []
        return listed.roots


def _first_folder(roots: list[types.Root]) -> Path:
    paths = [Path(url2pathname(urlsplit(str(root.uri)).path)) for root in roots]
    folder = next((path for path in paths if path.is_dir()), None)
    if folder is None:
        named = ", ".join(map(str, paths))
        raise UsageError(
            f"This client's roots do not include a folder on this machine: {named}.", hint=_GIVE_ONE
        )
    return folder.resolve()


def _enclosing(folder: Path) -> Path:
    """Return the repository that contains `folder`.

    Raises UsageError for a home folder or a whole disk.
    """
    root = find_root(folder)
    if holds_home(root):
        raise UsageError(
            f"The repository is unknown: this server was started in {root}, and the client sent no "
            "root.",
            hint=_GIVE_ONE,
        )
    return root
