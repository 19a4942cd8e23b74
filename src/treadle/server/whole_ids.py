"""The part of an address that holds an id, which is any text: whoever records spans gives it.

Starlette's own `path` ends at a line break, so that what has one in its id had no address.
"""

from starlette.convertors import PathConvertor, register_url_convertor


class _Whole(PathConvertor):
    regex = "(?s:.*)"


register_url_convertor("whole", _Whole())


def rest(name: str) -> str:
    """The rest of the address, for the path of a route."""
    return f"{{{name}:whole}}"
