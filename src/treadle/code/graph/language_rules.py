"""Which languages find names alike, and how they part the paths of their items.

Repeated from `treadle.code.languages`, which take longer to load than a search.
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
"""Of a type and its member, and of other parts of a path, where they are not dots (a test holds
them equal to those of the languages)."""
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
"""What stands for the object or type around, by language; equal to `Language.self_names`."""
BASES_INSIDE = frozenset({"ruby"})
"""Languages where a base is named in the body of a type, so that the body's names count."""
