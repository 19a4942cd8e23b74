"""Lists and maps that were flattened into attributes with dots in their names."""

from typing import Any

from treadle.spans.span import Attributes

_INDEX_DIGITS = 6
_STEPS = 12

Nested = dict[str, Any]


def nested(attributes: Attributes, *prefixes: str) -> dict[str, Nested]:
    """The attributes under each prefix (which ends with a dot), by the parts of the names.

    All prefixes are looked for in one walk over the attributes.
    """
    found: dict[str, Nested] = {}
    for key, value in attributes.items():
        if key.startswith(prefixes):
            for prefix in prefixes:
                if key.startswith(prefix):
                    put(found.setdefault(prefix, {}), key[len(prefix) :], value)
                    break
    return found


def put(tree: Nested, key: str, value: Any) -> None:
    """Put a value where its dotted name belongs."""
    *path, last = key.split(".", _STEPS)
    for step in path:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            return
    tree[last] = value


def items(value: Any) -> list[Any]:
    """The entries of a flattened list, in the order of their numbers; a real list as it is."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    numbered = [key for key in value if key.isdecimal() and len(key) <= _INDEX_DIGITS]
    return [value[key] for key in sorted(numbered, key=int)]


def tree(value: Any) -> Any:
    """`value` with the dotted names in its maps taken apart, at every level."""
    if isinstance(value, list):
        return [tree(each) for each in value]
    if not isinstance(value, dict):
        return value
    made: Nested = {}
    for key, each in value.items():
        put(made, key, tree(each))
    return made
