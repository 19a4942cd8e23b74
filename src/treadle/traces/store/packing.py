"""Any text as SQLite can hold it, and back."""

import json


def packed(text: str | None) -> str | bytes | None:
    """`text` as a value of a column: a lone surrogate, which is no UTF-8, makes it bytes."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def unpacked(value: str | bytes) -> str:
    """The text of such a value."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def labels_of(column: str | None) -> list[str | bytes]:
    """The labels of a span from `spans.labels`, packed."""
    return [packed(label) or "" for label in json.loads(column)] if column else []
