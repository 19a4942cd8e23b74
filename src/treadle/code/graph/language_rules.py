"""Language rules for resolving names, and the path separators of languages.

The rules repeat facts of `treadle.code.languages`, because loading that package takes longer than a
search.
"""

PYTHON = "python"
ES = frozenset({"typescript", "tsx", "javascript"})
RUST = "rust"
GO = "go"
PACKAGED = frozenset({"java", "kotlin"})
C = frozenset({"c", "cpp"})
SEPARATORS = {
    **dict.fromkeys((RUST, *C), ("::",)),
    "bash": ("/",),
    "php": ("::", "\\"),
    "ruby": ("#", "::"),
}
"""Separators other than dots.

The first is between a type and its member, and the second is between other parts of a path. A test
compares them with the separators of the languages.
"""
EXPLICIT = frozenset({PYTHON, *ES, RUST, GO, "php"})
"""Languages whose members need a receiver."""

SELF_NAMES: dict[str, frozenset[str]] = {
    PYTHON: frozenset({"self", "cls", "super"}),
    **dict.fromkeys((*ES, *PACKAGED), frozenset({"this", "super"})),
    RUST: frozenset({"self", "Self"}),
    "csharp": frozenset({"this", "base"}),
    "php": frozenset({"$this", "self", "static", "parent"}),
    "ruby": frozenset({"self"}),
    "swift": frozenset({"self", "super", "Self"}),
}
"""Names of the enclosing object or type, by language. They equal `Language.self_names`."""
BASES_INSIDE = frozenset({"ruby"})
"""Languages that name a base in the body of a type. Names of the body apply to that base."""
