"""One module a language: grammar, queries and the naming of items."""

from treadle.code.languages.base import Language
from treadle.code.languages.c import C
from treadle.code.languages.cpp import CPP
from treadle.code.languages.go import GO
from treadle.code.languages.java import JAVA
from treadle.code.languages.javascript import JAVASCRIPT
from treadle.code.languages.python import PYTHON
from treadle.code.languages.rust import RUST
from treadle.code.languages.typescript import TSX, TYPESCRIPT

__all__ = ["LANGUAGES", "Language", "language_of"]

LANGUAGES = (PYTHON, RUST, TYPESCRIPT, TSX, JAVASCRIPT, GO, JAVA, C, CPP)
_BY_EXTENSION = {suffix: language for language in LANGUAGES for suffix in language.extensions}


def language_of(path: str) -> Language | None:
    """The language of a file by its suffix; None where there is no grammar for it."""
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _BY_EXTENSION.get(dot + suffix.lower()) if dot else None
