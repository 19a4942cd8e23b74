"""Finds the imports of an instruction file: `@path` outside of code, after white space.

Most words that begin with `@` are not imports: handles, decorators, scopes of packages. Therefore
only a word that names an existing file, or that is clearly a path, counts.
"""

import re
from collections.abc import Iterator

_WORD = re.compile(r"(?:^|(?<=\s)|(?<=[(\[]))@([^\s`@]{1,300})")
_AFTER = ".,;:!?)]}'\"*"
_BREAKS = frozenset({"softbreak", "hardbreak"})
_PROSE = (".md", ".mdc", ".mdx", ".txt", ".rst")

MAX_IMPORTS = 100
"""The maximum number of imports of one file that are followed."""


def imports_of(text: str) -> list[str]:
    """Return the words after `@` that may name a file, each once, in their order."""
    if "@" not in text:
        return []
    found: dict[str, None] = {}
    for passage in _passages(text):
        for match in _WORD.finditer(passage):
            if word := match[1].rstrip(_AFTER):
                found.setdefault(word)
    return list(found)[:MAX_IMPORTS]


def is_outside(word: str) -> bool:
    """Whether an import begins at a home folder or at the root of the file system."""
    return word.startswith(("~", "/", "\\")) or word[1:3] in {":\\", ":/"}


def is_path(word: str) -> bool:
    """Whether a word is a path even if there is no such file, and not a handle or a scope."""
    return word.lower().endswith(_PROSE) or word.startswith("../")


def reference_in(text: str) -> str | None:
    """Return the path if `text` is a single word, such as the target of a symbolic link.

    On a system without symbolic links, git stores a link as a file that contains its target.
    """
    word = text.strip()
    if not word or len(word) > 300 or any(each.isspace() for each in word):
        return None
    return word.removeprefix("@")


def _passages(text: str) -> Iterator[str]:
    """Yield the texts between code spans, code blocks and HTML, without these."""
    from markdown_it import MarkdownIt  # takes 40 ms to import

    for block in MarkdownIt("commonmark").parse(text):
        before = None
        for token in block.children or ():
            if token.type == "text":
                starts = before is None or before in _BREAKS
                yield token.content if starts else f"\ufffc{token.content}"
            before = token.type
