"""A file of any encoding that is edited: its text as UTF-8, and the way back to its exact bytes."""

from collections.abc import Sequence
from dataclasses import replace

from treadle.charsets import Charset, EncodingError, ShiftStateError, Transcoded
from treadle.edits.hunks import hunks_of
from treadle.edits.matching import Located
from treadle.edits.model import EditError, Hunk, splice
from treadle.edits.requests import LineRangeEdit, PatchEdit, PatchHunk, RangeEdit, ReplaceEdit
from treadle.edits.text import Source
from treadle.events.types import ErrorKind

TextEdit = ReplaceEdit | RangeEdit | LineRangeEdit | PatchEdit


class EncodedFile:
    """The file at `path` with content `data`, in the encoding `charset`.

    `source` is its text as UTF-8, against which edits are matched, `raw` its bytes; both are the
    same for a file in UTF-8 or an unknown encoding. Raises EditError for what is not text.
    """

    def __init__(self, path: str, data: bytes, charset: Charset) -> None:
        self.raw = Source(path, data)
        self.raw.check()
        self.charset = charset
        self._text: Transcoded | None = None
        if charset.codec is not None and not charset.is_utf8:
            try:
                self._text = Transcoded(data, charset)
            except ShiftStateError as error:
                raise EditError(
                    ErrorKind.VALIDATION,
                    f"{path} is {charset.name}, and {error}, so that it cannot be edited.",
                    path=path,
                    hint="Ask the person to convert it to UTF-8 first.",
                ) from error
        self.source = self.raw if self._text is None else Source(path, self._text.text)

    def prepared(self, request: TextEdit) -> TextEdit:
        """The same edit of the text, with new text that can be written to the file.

        Raises EditError that names the first character that cannot be written.
        """
        match request:
            case ReplaceEdit():
                return replace(request, new=self._writable(request.new, "The new text"))
            case LineRangeEdit():
                return replace(request, code=self._writable(request.code, "The code"))
            case RangeEdit():
                start, end = self._offset(request.start), self._offset(request.end)
                code = self._writable(request.code, "The code")
                return replace(request, start=start, end=end, code=code)
            case PatchEdit():
                return replace(request, hunks=tuple(self._patched(h) for h in request.hunks))

    def _patched(self, hunk: PatchHunk) -> PatchHunk:
        lines = tuple(
            (mark, self._writable(text, "A line of the patch") if mark == "+" else text)
            for mark, text in hunk.lines
        )
        return replace(hunk, lines=lines)

    def _writable(self, text: str, what: str) -> str:
        if self.charset.is_utf8:
            return text
        return writable(self.charset, text, what, self.path)

    @property
    def path(self) -> str:
        """Its path, relative to the root."""
        return self.source.path

    def _offset(self, at: int) -> int:
        """A byte of the file as one of its text."""
        size = len(self.raw.data)
        if self._text is None:
            return at
        if not 0 <= at <= size:
            raise self._refused(f"Byte {at} is not in {self.path}, which has {size} bytes.")
        found = self._text.offset(at, self.raw.data)
        if found is None:
            raise self._refused(
                f"Byte {at} of {self.path}, which is {self.charset.name}, does not begin a "
                f"{'line' if self.charset.stateful else 'character'}."
            )
        return found

    def _refused(self, message: str) -> EditError:
        return EditError(
            ErrorKind.VALIDATION,
            message,
            path=self.path,
            hint="Use `replace` or `lines`, which do not use byte offsets.",
        )

    def check_seen(self, request: TextEdit, located: Sequence[Located]) -> None:
        """Refuse to replace a range of text that a model may not have been able to read."""
        if self._text is None or isinstance(request, ReplaceEdit | PatchEdit):
            return
        for each in located:
            old = self.source.data[each.start : each.end]
            lost = _others(old) - _others(each.new)
            if lost > 0 and self.charset.rivals:
                raise self._refused(
                    f"The range (line {self.source.line_of(each.start)} of {self.path}) has "
                    "characters whose encoding is not certain; they would be lost."
                )
            if lost > 0 and each.new.count(b"?") > old.count(b"?"):
                raise self._refused(
                    f"The code has question marks where {self.path}, which is "
                    f"{self.charset.name}, has other characters; they would be lost."
                )

    def hunks(self, located: Sequence[Located]) -> tuple[Hunk, ...]:
        """The hunks of the file for edits of its text that are in order and do not overlap."""
        found = hunks_of(self.source, located)
        if self._text is None:
            return found
        parts: list[Located] = []
        shown = at = 0
        for hunk in found:
            at += len(self._text.back(self.source.data[shown : hunk.start]))
            end = at + len(self._text.back(hunk.old))
            parts.append(Located(at, end, self._text.back(hunk.new)))
            at, shown = end, hunk.end
        made = hunks_of(self.raw, parts)
        self._verify(splice(self.raw.data, made), splice(self.source.data, found))
        return made

    def _verify(self, result: bytes, text: bytes) -> None:
        """Refuse an edit after which the file does not hold just the edited text."""
        try:
            same = Transcoded(result, self.charset).text == text
        except ShiftStateError:
            same = False
        if not same:
            raise self._refused(
                f"The edit of {self.path} would join its text with bytes that are not "
                f"{self.charset.name}."
            )


def writable(charset: Charset, text: str, what: str, path: str) -> str:
    """`text` as it can be written to the file at `path`.

    Raises EditError with the character that cannot be written, its line and the encoding.
    """
    try:
        return charset.writable(text)
    except EncodingError as error:
        char = text[error.at]
        line = text.count("\n", 0, error.at) + 1
        column = error.at - text.rfind("\n", 0, error.at)
        raise EditError(
            ErrorKind.VALIDATION,
            f"{what} for {path} has {char!r} (U+{ord(char):04X}, line {line}, character {column}), "
            f"{error.reason}",
            path=path,
            hint=error.hint,
        ) from error


def _others(text: bytes) -> int:
    """How many characters of UTF-8 text are not ASCII."""
    return sum(byte >= 0xC0 for byte in text)
