"""Changes of files as bytes for a store: JSON, compressed, with every byte kept."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

from treadle.edits.model import ChangeKind, FileChange, Hunk


def encode_changes(changes: Sequence[FileChange]) -> bytes:
    """`changes` as bytes; their size is about that of the hunks, compressed."""
    body = [
        {
            "path": change.path,
            "kind": change.kind,
            "base": change.base_hash,
            "result": change.result_hash,
            "target": change.target,
            "encoding": change.encoding,
            "hunks": [
                [
                    hunk.start,
                    hunk.line,
                    hunk.unique,
                    *map(_text, (hunk.old, hunk.new, hunk.before, hunk.after)),
                ]
                for hunk in change.hunks
            ],
        }
        for change in changes
    ]
    return zlib.compress(json.dumps(body).encode("ascii"))  # paths may hold lone surrogates


def decode_changes(data: bytes) -> tuple[FileChange, ...]:
    """What `encode_changes` made of them. Raises ValueError, KeyError, TypeError or zlib.error."""
    body: list[dict[str, Any]] = json.loads(zlib.decompress(data))
    return tuple(
        FileChange(
            each["path"],
            ChangeKind(each["kind"]),
            each["base"],
            each["result"],
            tuple(_hunk(*values) for values in each["hunks"]),
            each["target"],
            each.get("encoding"),  # older stores have none
        )
        for each in body
    )


def _hunk(start: int, line: int, unique: list[int], *texts: str) -> Hunk:
    old, new, before, after = (text.encode("latin-1") for text in texts)
    return Hunk(start, line, old, new, before, after, (unique[0], unique[1]))


def _text(data: bytes) -> str:
    return data.decode("latin-1")
