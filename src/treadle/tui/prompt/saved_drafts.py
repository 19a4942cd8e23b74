"""Converts drafts to JSON for files, and back."""

from collections.abc import Mapping
from dataclasses import asdict

from pydantic import BaseModel, JsonValue, TypeAdapter

from treadle.session.attachments import CodeAttachment, ItemAttachment
from treadle.tui.prompt.draft import Chip, CommandOutput, Draft, ImageFile, Part, PastedText, Unsent

_KINDS: Mapping[str, type[Chip]] = {
    "paste": PastedText,
    "output": CommandOutput,
    "image": ImageFile,
    "code": CodeAttachment,
    "item": ItemAttachment,
}
"""Maps the name of a kind of chips in a file to the class of these chips."""

_Parts = list[str | dict[str, JsonValue]]
_PARTS = TypeAdapter(_Parts)


class _Unsent(BaseModel):
    prompt: _Parts
    queue: list[_Parts]


def write_draft(draft: Draft) -> bytes:
    """Write a draft as JSON."""
    return _PARTS.dump_json(_to_parts(draft))


def read_draft(saved: bytes) -> Draft:
    """Read a draft from JSON. Raises ValueError if it is malformed."""
    return _from_parts(_PARTS.validate_json(saved))


def write_unsent(unsent: Unsent) -> bytes:
    """Write a draft and queued messages as JSON."""
    queue = [_to_parts(draft) for draft in unsent.queue]
    return _Unsent(prompt=_to_parts(unsent.prompt), queue=queue).model_dump_json().encode()


def read_unsent(saved: bytes) -> Unsent:
    """Read a draft and queued messages from JSON. Raises ValueError if they are malformed."""
    read = _Unsent.model_validate_json(saved)
    return Unsent(_from_parts(read.prompt), tuple(map(_from_parts, read.queue)))


def _to_parts(draft: Draft) -> _Parts:
    return [
        part if isinstance(part, str) else {"kind": _kind(part), **asdict(part)}
        for part in draft.parts
    ]


def _from_parts(parts: _Parts) -> Draft:
    return Draft(tuple(map(_part, parts)))


def _kind(chip: Chip) -> str:
    return next(kind for kind, each in _KINDS.items() if isinstance(chip, each))


def _part(saved: str | dict[str, JsonValue]) -> Part:
    if isinstance(saved, str):
        return saved
    kind = _KINDS.get(str(saved.get("kind")))
    if kind is None:
        raise ValueError("A saved part is a text or has a known kind.")
    fields = {name: value for name, value in saved.items() if name != "kind"}
    return TypeAdapter[Chip](kind).validate_python(fields)
