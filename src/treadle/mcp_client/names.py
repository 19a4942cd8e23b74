"""The names under which models call the tools of MCP servers: `SERVER__TOOL`."""

import re
from hashlib import blake2b

SEPARATOR = "__"
"""The text between the name of the server and the name of the tool. Tools of Treadle lack it."""

MAX_NAME = 64
"""The maximum length of a tool's name that all providers accept."""

_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_BYTES = 4


def offered_name(server: str, tool: str) -> str:
    """Return the name under which models call `tool` of `server`.

    The name depends on nothing else. If a name is too long, or has characters that providers
    refuse, it is changed and ends with a hash of the original name.
    """
    name = f"{server}{SEPARATOR}{_UNUSABLE.sub('_', tool)}"
    if name == f"{server}{SEPARATOR}{tool}" and len(name) <= MAX_NAME:
        return name
    content = tool.encode("utf-8", "surrogatepass")
    digest = blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
    return f"{name[: MAX_NAME - len(digest) - 1]}_{digest}"
