"""Any text as SQLite can store it, and back."""

import json

Text = str | bytes
"""A text in a column: bytes if it contains a lone surrogate, which UTF-8 cannot encode."""


def pack_text(text: str) -> Text:
    """`text` as a value of a column."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def packed(text: str | None) -> Text | None:
    """`text` as a value of a column that allows NULL."""
    return None if text is None else pack_text(text)


def unpacked(value: Text) -> str:
    """The text of a value that `packed` returned."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def labels_of(column: str | None) -> list[Text]:
    """The labels of a span from `spans.labels`, packed."""
    return [pack_text(label) for label in json.loads(column)] if column else []
