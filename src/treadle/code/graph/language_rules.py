"""Rules of languages for the resolution of names, and the separators of their paths.

They repeat facts of `treadle.code.languages`, which takes longer to load than a search.
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
"""Separators other than dots: between a type and its member, and between other parts of a path. A
test compares them with those of the languages."""
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
"""Names of the enclosing object or type, by language; equal to `Language.self_names`."""
BASES_INSIDE = frozenset({"ruby"})
"""Languages that name a base in the body of a type, so that the names of the body apply."""
