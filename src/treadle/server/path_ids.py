"""Ids in the path of an address. An id is any text: the program that records spans chooses it."""

from urllib.parse import unquote

from fastapi import Request
from starlette.convertors import PathConvertor, register_url_convertor

from treadle.errors import NotFoundError


class _WholePath(PathConvertor):
    """Matches line breaks too. The converter `path` of Starlette stops at a line break."""

    regex = "(?s:.*)"


register_url_convertor("whole", _WholePath())


def rest_of_path(name: str) -> str:
    """The pattern for the rest of the path of a route."""
    return f"{{{name}:whole}}"


def ids_in_path(request: Request, prefix: str, count: int = 1) -> list[str]:
    """The ids behind `prefix` in the address.

    A slash within an id is written `%2F`, so the path is split before it is decoded. A single id
    may contain plain slashes. Raises NotFoundError if there are not `count` ids.
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
