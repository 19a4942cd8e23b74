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
"""Separators of canonical paths, for languages that do not only use dots.

The first separator is between a type and its member. The second separator is between other parts of
a path. If there is only one separator, it is used everywhere. A test compares the separators with
those in `treadle.code.languages`.
"""
EXPLICIT = frozenset({PYTHON, *ES, RUST, GO, "php"})
"""Languages in which a type uses its own members through a receiver, such as `self`."""

SELF_NAMES: dict[str, frozenset[str]] = {
    PYTHON: frozenset({"self", "cls", "super"}),
    **dict.fromkeys((*ES, *PACKAGED), frozenset({"this", "super"})),
    RUST: frozenset({"self", "Self"}),
    "csharp": frozenset({"this", "base"}),
    "php": frozenset({"$this", "self", "static", "parent"}),
    "ruby": frozenset({"self"}),
    "swift": frozenset({"self", "super", "Self"}),
}
"""Names of the enclosing object or type, by language. The names equal `Language.self_names`."""
BASES_INSIDE = frozenset({"ruby"})
"""Languages that name a base type in the body of a type.

The name of the base is resolved inside this body.
"""
