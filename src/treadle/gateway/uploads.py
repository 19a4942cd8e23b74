"""Bodies of requests that are not JSON, such as uploads of sound, images and files.

A body is kept in an unnamed temporary file. Therefore a large body takes little memory and can be
sent again after a failure. A body that is a form is parsed while it arrives.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from treadle.gateway.media_notes import media_note
from treadle.gateway.refusals import RefusalError

_IN_MEMORY = 256_000
"""The size in bytes up to which a body is kept in memory."""
_PIECE = 256_000
_FIELD_LIMIT = 20_000
"""The size in bytes from which no further part of a field is recorded."""
_FIELDS = 200
"""The maximum number of fields that are recorded."""


@dataclass(slots=True)
class _Part:
    """A part of a form. `start` and `end` are the position of its content in the body."""

    name: str = ""
    media_type: str | None = None
    """The media type of a file, or None for a field."""
    content: bytearray = field(default_factory=bytearray)
    start: int = 0
    end: int = 0
    size: int = 0

    @property
    def value(self) -> str:
        if self.media_type is not None:
            return media_note(self.media_type, self.size)
        return self.content.decode("utf-8", "replace")


class Upload:
    """A body that arrives in parts. `close` deletes it."""

    def __init__(self, content_type: str) -> None:
        """Create an empty upload. Raises RefusalError for a form without a boundary."""
        self.size = 0
        self._content_type = content_type
        self._form = _Form(content_type) if content_type.startswith("multipart/form-data") else None
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (closed by `close`)

    def write(self, block: bytes) -> None:
        """Append a part of the body."""
        if self._form is not None:
            self._form.write(block, self.size)
        self._file.write(block)
        self.size += len(block)

    def close(self) -> None:
        self._file.close()

    @property
    def values(self) -> dict[str, object]:
        """The fields of the form, with a note in place of each file."""
        if self._form is None:
            media_type = self._content_type.partition(";")[0]
            return {"body": media_note(media_type, self.size)} if self.size else {}
        return self._form.values

    def sent_with(self, model: str | None) -> "SentUpload":
        """The body as it is sent.

        If `model` is not None and the form has a field `model`, `model` replaces the value.
        """
        at = self._form.model if self._form is not None else None
        if model is None or at is None:
            return SentUpload(self._file, self.size, (self.size, self.size), b"")
        return SentUpload(self._file, self.size, at, model.encode())


@dataclass(frozen=True, slots=True)
class SentUpload:
    """The content of an upload, in which the bytes at `replaced` are replaced by `value`."""

    file: "SpooledTemporaryFile[bytes]"
    size: int
    replaced: tuple[int, int]
    value: bytes

    def __len__(self) -> int:
        start, end = self.replaced
        return self.size - (end - start) + len(self.value)

    async def blocks(self) -> AsyncIterator[bytes]:
        """The bytes in parts."""
        start, end = self.replaced
        for block in self._read(0, start):
            yield block
        if self.value:
            yield self.value
        for block in self._read(end, self.size):
            yield block

    def _read(self, at: int, end: int) -> Iterator[bytes]:
        while at < end:
            self.file.seek(at)
            block = self.file.read(min(_PIECE, end - at))
            at += len(block)
            yield block


class _Form:
    """Reads the fields of a form, and the types and sizes of its files."""

    def __init__(self, content_type: str) -> None:
        _, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if not boundary:
            raise _malformed()
        self._parts: list[_Part] = []
        self._header = bytearray(), bytearray()
        self._at = 0
        self._parser = MultipartParser(boundary, {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_part_data": self._add,
        })  # fmt: skip

    @property
    def values(self) -> dict[str, object]:
        found: dict[str, object] = {}
        for part in self._parts[:_FIELDS]:
            found.setdefault(part.name, part.value)
        return found

    @property
    def model(self) -> tuple[int, int] | None:
        """The position of the value of the field `model`, or None if there is no such field."""
        models = [part for part in self._parts if part.name == "model" and not part.media_type]
        return (models[0].start, models[0].end) if models else None

    def write(self, block: bytes, at: int) -> None:
        self._at = at
        try:
            self._parser.write(block)
        except MultipartParseError as error:
            raise _malformed() from error

    def _begin(self) -> None:
        self._parts.append(_Part())

    def _end_header(self) -> None:
        name, value = (bytes(each) for each in self._header)
        for each in self._header:
            each.clear()
        part = self._parts[-1]
        if name.lower() == b"content-disposition":
            _, options = parse_options_header(value)
            part.name = options.get(b"name", b"").decode("utf-8", "replace")
            if b"filename" in options and part.media_type is None:
                part.media_type = "application/octet-stream"
        elif name.lower() == b"content-type" and part.media_type is not None:
            part.media_type = value.decode("latin-1")

    def _add(self, data: bytes, start: int, end: int) -> None:
        part = self._parts[-1]
        if part.size == 0:
            part.start = self._at + start
        part.end = self._at + end
        part.size += end - start
        if part.media_type is None and len(part.content) < _FIELD_LIMIT:
            part.content += data[start:end][:_FIELD_LIMIT]


def _malformed() -> RefusalError:
    return RefusalError(
        "The form of the request is malformed.",
        hint="Send multipart/form-data with a boundary.",
        status=400,
        code="invalid_form",
    )
