"""Ignore files: which paths of a tree are left out (gitignore(5), checked against git itself)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

IGNORE_FILES = (".gitignore", ".ignore", ".treadleignore")
"""Names of ignore files, weakest first; those of a folder are weaker than those below it."""

REPOSITORY_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj"})
"""Never walked and never re-included, whatever an ignore file says."""

_DEFAULT_PATTERNS = (
    "node_modules/",
    "__pycache__/",
    ".venv/",
    ".tox/",
    ".nox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".hypothesis/",
    ".idea/",
    ".DS_Store",
)
"""The weakest rules, so that a tree without git is not drowned in caches; `!` re-includes."""

_MAX_IGNORE_FILE = 1_000_000
_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True)
class _Rule:
    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class _RuleSet:
    """The rules of one folder. `any_rule` tells quickly that none of them matches."""

    rules: tuple[_Rule, ...]
    any_rule: re.Pattern[str]

    @classmethod
    def of(cls, lines: list[str]) -> Self | None:
        rules = tuple(rule for line in lines if (rule := _parse(line)) is not None)
        if not rules:
            return None
        return cls(rules, re.compile("|".join(rule.regex.pattern for rule in rules), re.DOTALL))

    def verdict(self, path: str, *, is_dir: bool) -> bool | None:
        """True: ignored, False: re-included, None: no rule speaks of it. The last rule wins."""
        if self.any_rule.fullmatch(path) is None:
            return None
        for rule in reversed(self.rules):
            if (is_dir or not rule.folders_only) and rule.regex.fullmatch(path):
                return not rule.negated
        return None


def _parse(line: str) -> _Rule | None:
    """One line of an ignore file; None for a comment, an empty line or a broken pattern."""
    pattern = _strip_trailing_spaces(line)
    if not pattern or pattern.startswith("#"):
        return None
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    anchored = "/" in pattern
    body = _translate(pattern.removeprefix("/"))
    if body is None:
        return None
    prefix = "" if anchored else "(?:.*/)?"
    return _Rule(re.compile(f"(?:{prefix}{body})", re.DOTALL), negated, folders_only)


def _strip_trailing_spaces(line: str) -> str:
    end = len(line)
    while end and line[end - 1] == " " and not (end > 1 and line[end - 2] == "\\"):
        end -= 1
    return line[:end]


def _translate(pattern: str) -> str | None:
    """The pattern as a regular expression; None where git would match nothing."""
    out: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            text, position = _translate_stars(pattern, position)
            out.append(text)
        elif character == "?":
            out.append("[^/]")
            position += 1
        elif character == "[":
            bracket = _translate_class(pattern, position)
            if bracket is None:
                return None
            text, position = bracket
            out.append(text)
        else:
            if character == "\\":
                position += 1
                if position == len(pattern):
                    return None
            out.append(re.escape(pattern[position]))
            position += 1
    return "".join(out)


def _translate_stars(pattern: str, start: int) -> tuple[str, int]:
    """The run of stars at `start`, and where it ends; `**` is special only as a whole part."""
    end = start
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole_start = end - start == 2 and (start == 0 or pattern[start - 1] == "/")
    if whole_start and end == len(pattern):
        return ".*", end
    if whole_start and pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end


def _translate_class(pattern: str, start: int) -> tuple[str, int] | None:
    """The bracket expression at `start`, and where it ends; None if it is not closed."""
    position = start + 1
    negated = pattern[position : position + 1] in {"!", "^"}
    position += negated
    members: list[str] = []
    first = True
    while True:
        character = pattern[position : position + 1]
        if not character:
            return None
        if character == "]" and not first:
            break
        first = False
        if pattern.startswith("[:", position):
            end = pattern.find(":]", position + 2)
            if end < 0 or (known := _POSIX_CLASSES.get(pattern[position + 2 : end])) is None:
                return None
            members.append(known)
            position = end + 2
            continue
        low, position = _class_character(pattern, position)
        high = low
        following = pattern[position + 1 : position + 2]
        if pattern[position : position + 1] == "-" and following not in {"]", ""}:
            high, position = _class_character(pattern, position + 1)
        members.append(re.escape(low))  # as in git, also where the range is empty
        if low and high and low <= high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    if negated:
        return f"[^/{''.join(members)}]", position + 1
    return f"(?!/)[{''.join(members)}]" if members else "(?!)", position + 1


def _class_character(pattern: str, position: int) -> tuple[str, int]:
    if pattern[position] == "\\":
        position += 1
    return pattern[position : position + 1], position + 1


class IgnoreRules:
    """The ignore rules that hold in a tree.

    Its ignore files, those of the folders above it up to the enclosing git root,
    `.git/info/exclude`, and a few defaults. Files are read when first needed and kept.
    """

    def __init__(self, root: Path) -> None:
        """`root`: the folder that paths are relative to; it need not be a git root."""
        self._root = root
        self._sets: dict[str, _RuleSet | None] = {}
        self._above = _rules_above(root)

    def ignored(self, relative_path: str, is_dir: bool) -> bool:
        """Whether `relative_path` (POSIX, relative to the root) or a folder above it is ignored.

        As in git, nothing below an ignored folder can be re-included.
        """
        parts = relative_path.split("/")
        for count in range(1, len(parts)):
            if self.entry_ignored("/".join(parts[:count]), is_dir=True):
                return True
        return self.entry_ignored(relative_path, is_dir=is_dir)

    def entry_ignored(self, path: str, *, is_dir: bool) -> bool:
        """The same for an entry whose folder is known not to be ignored; what a walk asks."""
        folder, _, name = path.rpartition("/")
        if name in REPOSITORY_FOLDERS:
            return True
        while True:
            rules = self._rules_of(folder)
            if rules is not None:
                below = path[len(folder) + 1 :] if folder else path
                verdict = rules.verdict(below, is_dir=is_dir)
                if verdict is not None:
                    return verdict
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        for prefix, above in self._above:
            verdict = above.verdict(prefix + path, is_dir=is_dir)
            if verdict is not None:
                return verdict
        return False

    def _rules_of(self, folder: str) -> _RuleSet | None:
        try:
            return self._sets[folder]
        except KeyError:
            rules = self._sets[folder] = _read_folder(self._root / folder)
            return rules


def _read_folder(folder: Path) -> _RuleSet | None:
    lines: list[str] = []
    for name in IGNORE_FILES:
        lines += _read_lines(folder / name)
    return _RuleSet.of(lines) if lines else None


def _read_lines(path: Path) -> list[str]:
    """The lines of an ignore file; none if it is absent, unreadable, a link, or absurdly long."""
    try:
        if path.is_symlink() or not path.is_file():
            return []
        with path.open("rb") as file:
            data = file.read(_MAX_IGNORE_FILE)
    except OSError:
        return []
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _rules_above(root: Path) -> list[tuple[str, _RuleSet]]:
    """Rule sets from above `root` with the prefix that leads from them to it, strongest first.

    The folders up to the git root, then its `info/exclude`, then the defaults.
    """
    found: list[tuple[str, _RuleSet]] = []
    git_root = next(
        (folder for folder in (root, *root.parents) if (folder / ".git").exists()), None
    )
    if git_root is not None:
        for folder in root.parents:
            if not folder.is_relative_to(git_root):
                break
            if (rules := _read_folder(folder)) is not None:
                found.append((_prefix(folder, root), rules))
        if (exclude := _RuleSet.of(_read_lines(git_root / ".git/info/exclude"))) is not None:
            found.append((_prefix(git_root, root), exclude))
    if (defaults := _RuleSet.of(list(_DEFAULT_PATTERNS))) is not None:
        found.append(("", defaults))
    return found


def _prefix(folder: Path, root: Path) -> str:
    below = root.relative_to(folder).as_posix()
    return "" if below == "." else below + "/"
