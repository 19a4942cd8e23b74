"""Encodings of files, for all readers and writers.

`charset_of` detects the encoding of a file. `Charset.encode` encodes new text or refuses it.
`Transcoded` shows a file in another encoding as UTF-8, and converts it back to the exact bytes.
"""

from treadle.charsets.detection import Configured, charset_of, charset_of_new, declared_label
from treadle.charsets.editorconfig import configured_charset
from treadle.charsets.model import UTF_8, Charset, EncodingError, is_utf8
from treadle.charsets.transcoding import ShiftStateError, Transcoded, as_utf8

__all__ = [
    "UTF_8",
    "Charset",
    "Configured",
    "EncodingError",
    "ShiftStateError",
    "Transcoded",
    "as_utf8",
    "charset_of",
    "charset_of_new",
    "configured_charset",
    "declared_label",
    "is_utf8",
]
