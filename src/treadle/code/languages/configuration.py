"""Splits TOML, YAML, JSON and `go.mod` by top-level key.

A file with a syntax error yields the keys of its valid part.
"""

import re
from collections.abc import Iterator

from treadle import toml
from treadle.code.languages.comments import CommentOrAttribute, leading
from treadle.code.languages.outline import MAX_HEAD, Outline, Part
from treadle.code.model import Kind

_TOML_TABLE = re.compile(rb"[ \t]*\[\[?[ \t]*([^\]\n]+?)[ \t]*\]\]?[ \t]*(?:#[^\n]*)?\r?$")
_TOML_KEY = re.compile(
    rb"[ \t]*((?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*[\w\"'-]+)*)[ \t]*="
)
_TOML_TOKEN = re.compile(
    rb"\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]", re.DOTALL
)
_YAML_KEY = re.compile(
    rb"(\"[^\"\n]*\"|'[^'\n]*'|[^\s#\-\[{&*!|>%@`\"'][^:#\n]*?)[ \t]*:(?:[ \t\r]|$)"
)
_JSON_TOKEN = re.compile(
    rb"\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*|/\*.*?(?:\*/|\Z)|[{}\[\],:]|[^\s{}\[\],:\"/]+", re.DOTALL
)
_GO_MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_GO_DIRECTIVE = re.compile(rb"([a-z]+)[ \t]")


def _toml(source: bytes) -> Iterator[Part]:
    """Yield the tables, and the keys before the first table, each with its name."""
    heads: list[tuple[str, int, int]] = []
    in_table = False
    for start, end in _toml_lines(source):
        line = source[start : min(end, start + MAX_HEAD)]
        table = _TOML_TABLE.match(line)
        key = None if in_table or table else _TOML_KEY.match(line)
        found = table or key
        if found is not None:
            heads.append((_name(found.group(1)), start, end))
        in_table = in_table or table is not None
    return _runs(heads, source)


def _toml_lines(source: bytes) -> Iterator[tuple[int, int]]:
    """Yield lines that do not begin inside a string, an array or an inline table."""
    depth = 0
    start = 0
    header = False
    for token in _TOML_TOKEN.finditer(source):
        sign = token.group()
        if sign == b"\n":
            if depth <= 0 or header:
                yield start, token.start()
                start, depth, header = token.end(), 0, False
        elif sign in b"[{":
            before = source[start : min(token.start(), start + MAX_HEAD)]
            header = header or not before.strip()
            depth += 1
        elif sign in b"]}":
            depth -= 1
    yield start, len(source)


def _yaml(source: bytes) -> Iterator[Part]:
    """Yield the keys at the start of a line, each with its value."""
    heads: list[tuple[str, int, int]] = []
    position = 0
    for line in source.split(b"\n"):
        found = _YAML_KEY.match(line[:MAX_HEAD])
        if found is not None:
            heads.append((_name(found.group(1)), position, position + len(line)))
        position += len(line) + 1
    return _runs(heads, source)


def _json(source: bytes) -> Iterator[Part]:
    """Yield the keys of the outermost object, without comments."""
    depth = 0
    key: tuple[str, int, int] | None = None
    string: tuple[bytes, int, int] | None = None
    last = 0
    for token in _JSON_TOKEN.finditer(source):
        sign = token.group()
        if sign[:1] == b"/":
            continue
        if depth == 1 and key is None and sign == b":" and string is not None:
            key = (_name(string[0]), string[1], string[2])
        elif depth == 1 and key is not None and sign in {b",", b"}"}:
            yield Part(key[0], key[1], last, key[2])
            key = None
        if sign in {b"{", b"["}:
            depth += 1
        elif sign in {b"}", b"]"}:
            depth -= 1
        string = (sign, token.start(), token.end()) if sign[:1] == b'"' else None
        if sign not in {b",", b":"}:
            last = token.end()
    if key is not None:
        yield Part(key[0], key[1], len(source), key[2])


def _go_mod(source: bytes) -> Iterator[Part]:
    heads: list[tuple[str, int, int]] = []
    position = 0
    for line in source.split(b"\n"):
        found = _GO_DIRECTIVE.match(line)
        if found is not None:
            heads.append((_name(found.group(1)), position, position + len(line)))
        position += len(line) + 1
    return _runs(heads, source)


def _runs(heads: list[tuple[str, int, int]], source: bytes) -> Iterator[Part]:
    """Yield each key with its value, without the comments below the value."""
    above: list[int] = []
    limit = 0
    for _, start, head_end in heads:
        above.append(_comments_above(source, limit, start))
        limit = head_end
    ends = [*above[1:], len(source)] if heads else []
    for (name, start, head_end), first, end in zip(heads, above, ends, strict=True):
        stop = _value_end(source, head_end, end)
        yield Part(name, start, stop, head_end, comments=first if first < start else None)


def _value_end(source: bytes, head_end: int, end: int) -> int:
    """Return the end of a value. The next key or the comment of the next key begins at `end`.

    Comments at the start of a line below the value are not part of the value. Therefore an edit of
    the key keeps these comments.
    """
    stop = end
    while stop > head_end:
        start = source.rfind(b"\n", 0, stop - 1) + 1
        line = source[start:stop]
        if line.strip() and not line.startswith((b"#", b"//")):
            break
        stop = max(start, head_end)
    return stop


def _comments_above(source: bytes, limit: int, start: int) -> int:
    """Return the start of the comment lines right above `start`, without file headers."""
    comments_above: list[CommentOrAttribute] = []
    first = start
    while first > limit:
        line_start = source.rfind(b"\n", 0, first - 1) + 1
        line = source[line_start:first].strip()
        if line_start < limit or not line.startswith((b"#", b"//")):
            break
        if source[line_start : line_start + 1] in b" \t":
            break  # the line may be part of the value above
        comments_above.append(
            CommentOrAttribute(line_start, line_start + len(line), is_comment=True)
        )
        first = line_start
    return leading(source, comments_above[::-1], start, first if limit else start).start


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip().strip("\"'")


def _crate(path: str, source: bytes) -> str:
    """Return the name of a crate and its root files, in the form of `FileReferences.module`.

    The result is empty for files that are not a valid `Cargo.toml` with a name.
    """
    if path.rpartition("/")[2] != "Cargo.toml":
        return ""
    try:
        manifest = toml.loads(source.decode())
    except (ValueError, RecursionError):
        return ""
    package, library = _table(manifest.get("package")), _table(manifest.get("lib"))
    name = _text(library, "name") or _text(package, "name")
    if not name:
        return ""
    programs = [
        _text(_table(entry), "path")
        for kind in ("bin", "test", "bench", "example")
        for entry in _list(manifest.get(kind))
    ]
    return "\n".join([f"Cargo.toml {name}", _text(library, "path"), *filter(None, programs)])


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(table: dict[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) and "\n" not in value else ""


def _module(path: str, source: bytes) -> str:
    found = _GO_MODULE.search(source) if path.rpartition("/")[2] == "go.mod" else None
    return f"go.mod {_name(found.group(1))}" if found else ""


TOML = Outline("toml", (".toml",), Kind.KEY, _toml, _crate)
YAML = Outline("yaml", (".yaml", ".yml"), Kind.KEY, _yaml)
JSON = Outline("json", (".json", ".jsonc", ".json5"), Kind.KEY, _json)
GO_MOD = Outline("go.mod", (".mod",), Kind.KEY, _go_mod, _module)
