"""Reads ids from the path of a request. An id can be any text that a recording program chose."""

from urllib.parse import unquote

from fastapi import Request
from starlette.convertors import PathConvertor, register_url_convertor

from treadle.errors import NotFoundError


class _WholePath(PathConvertor):
    """Matches the whole rest of a path. Starlette's converter `path` stops at a line break."""

    regex = "(?s:.*)"


register_url_convertor("whole", _WholePath())


def rest_of_path(name: str) -> str:
    """Return the pattern of a path parameter that matches the rest of the path."""
    return f"{{{name}:whole}}"


def ids_in_path(request: Request, prefix: str, count: int = 1) -> list[str]:
    """Return the decoded ids that follow `prefix` in the path of a request.

    A slash within an id is encoded as `%2F`, so the path is split before it is decoded. If `count`
    is 1, the id may also contain unencoded slashes. Raises NotFoundError if the path does not have
    `count` ids.
    """
    path: bytes = request.scope["raw_path"]
    _, _, rest = path.decode("latin-1").partition(prefix)
    parts = rest.split("/") if count > 1 else [rest]
    ids = [unquote(part) for part in parts]
    if len(ids) != count or not all(ids):
        raise NotFoundError(
            "This address does not exist.",
            hint="Percent-encode each id, with %2F for a slash.",
        )
    return ids
