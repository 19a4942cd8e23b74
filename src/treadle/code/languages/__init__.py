"""The supported languages. Each has a module with its grammar, its queries and its item names."""

import re

from treadle.code.languages.base import Language
from treadle.code.languages.bash import BASH
from treadle.code.languages.c import C
from treadle.code.languages.configuration import GO_MOD, JSON, TOML, YAML
from treadle.code.languages.cpp import CPP
from treadle.code.languages.csharp import CSHARP
from treadle.code.languages.extra import WIDE, installed
from treadle.code.languages.go import GO
from treadle.code.languages.java import JAVA
from treadle.code.languages.javascript import JAVASCRIPT
from treadle.code.languages.kotlin import KOTLIN
from treadle.code.languages.markdown import MARKDOWN
from treadle.code.languages.notebook import NOTEBOOK
from treadle.code.languages.outline import Outline
from treadle.code.languages.php import PHP
from treadle.code.languages.python import PYTHON
from treadle.code.languages.ruby import RUBY
from treadle.code.languages.rust import RUST
from treadle.code.languages.swift import SWIFT
from treadle.code.languages.typescript import TSX, TYPESCRIPT

__all__ = ["LANGUAGES", "OUTLINES", "Language", "Outline", "language_of"]

LANGUAGES = (
    PYTHON, RUST, TYPESCRIPT, TSX, JAVASCRIPT, GO, JAVA, C, CPP, CSHARP, RUBY, PHP, KOTLIN, SWIFT,
    BASH,
)  # fmt: skip
OUTLINES = (MARKDOWN, TOML, YAML, JSON, GO_MOD, NOTEBOOK)
_BY_EXTENSION: dict[str, Language | Outline] = {
    suffix: language
    for language in (*LANGUAGES, *OUTLINES, *(WIDE if installed() else ()))
    for suffix in language.extensions
}
_CPP_SIGNS = re.compile(
    rb"^[ \t]*+(?:class[ \t]+\w|namespace\b|template[ \t]*<|using[ \t]+\w)"
    rb"|^[ \t]*+(?:public|private|protected):|\w::\w"
    rb"|^[ \t]*+#[ \t]*+include[ \t]*+<(?:string|vector|memory|map|cstd\w+|iostream|functional)>",
    re.MULTILINE,
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_GUARDED = re.compile(
    rb"#[ \t]*+if(?:def[ \t]++|[ \t]++defined[ \t]*+(?:\([ \t]*+)?)__cplusplus"
    rb".*?(?:#[ \t]*+endif|\Z)",
    re.DOTALL,
)


def language_of(path: str, data: bytes = b"") -> Language | Outline | None:
    """Return the language of a file by its suffix, or None if there is no grammar for it.

    For a `.h` file, the text in `data` decides between C and C++. Comments and the parts inside
    `#ifdef __cplusplus` do not count.
    """
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    if not dot:
        return None
    found = _BY_EXTENSION.get(dot + suffix.lower())
    if found is C and suffix == "h":
        code = _GUARDED.sub(b"", _COMMENT.sub(b"", data))
        return CPP if _CPP_SIGNS.search(code) else C
    return found
