"""Reads ignore files, and decides which paths they exclude (gitignore(5)).

Tests compare the decisions with git itself.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treadle.inside import read_regular

if TYPE_CHECKING:
    from treadle.code.files.git import Tracked

_GIT_FILE = ".gitignore"
IGNORE_FILES = (_GIT_FILE, ".ignore", ".treadleignore")
"""Names of ignore files, lowest precedence first. Files in deeper folders take precedence."""

REPOSITORY_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj"})
"""Names of folders that are always excluded, even if an ignore file includes them."""

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
"""The rules with the lowest precedence, which exclude caches even without a `.gitignore`.

An ignore file can include these paths again with a `!` pattern.
"""

_MAX_IGNORE_FILE = 1_000_000
_MAX_PATTERN = 4_096
"""The maximum number of characters of a pattern, equal to that of a path (PATH_MAX)."""
_SPECIAL = frozenset("*?[\\")


class _Rule:
    """One line of an ignore file.

    Most patterns are a plain name, a plain path, or `*` and an ending. Only other patterns need a
    regular expression. A pattern without a slash matches names. Other patterns match paths from the
    folder of the ignore file. `own` states that the line is from an ignore file that git does not
    read. A rule with `own` also excludes files that git tracks.
    """

    __slots__ = ("anchored", "ending", "expression", "folders_only", "literal", "negated", "own")

    def __init__(self, pattern: str, *, negated: bool, folders_only: bool, own: bool) -> None:
        self.negated = negated
        self.own = own
        self.folders_only = folders_only
        self.anchored = "/" in pattern
        pattern = pattern.removeprefix("/")
        self.literal = pattern if _SPECIAL.isdisjoint(pattern) else None
        plain_ending = not self.anchored and pattern[:1] == "*" and _SPECIAL.isdisjoint(pattern[1:])
        self.ending = pattern[1:] if plain_ending else None
        self.expression = ""
        if self.literal is None and self.ending is None:
            from treadle.code.files.globs import translate

            self.expression = translate(pattern) or "(?!)"

    @classmethod
    def parse(cls, line: str, *, own: bool) -> Self | None:
        """Return the rule of a line.

        The result is None for a comment, an empty pattern, or a line that is longer than any path.
        """
        pattern = _strip_trailing_spaces(line)
        if not pattern or len(pattern) > _MAX_PATTERN or pattern.startswith("#"):
            return None
        negated = pattern.startswith("!")
        pattern = pattern[negated:]
        folders_only = pattern.endswith("/")
        pattern = pattern.removesuffix("/")
        if not pattern:
            return None
        return cls(pattern, negated=negated, folders_only=folders_only, own=own)

    def matches(self, path: str, name: str) -> bool:
        text = path if self.anchored else name
        if self.literal is not None:
            return text == self.literal
        if self.ending is not None:
            return text.endswith(self.ending)
        return re.fullmatch(self.expression, text, re.DOTALL) is not None


class _RuleSet:
    """The rules of one folder, with a fast check whether any rule matches."""

    def __init__(self, rules: list[_Rule]) -> None:
        self._rules = rules[::-1]
        self._names = {rule.literal for rule in rules if not rule.anchored}
        self._paths = {rule.literal for rule in rules if rule.anchored}
        self._endings = tuple(rule.ending for rule in rules if rule.ending is not None)
        self._name_expression = _any_of(rules, anchored=False)
        self._path_expression = _any_of(rules, anchored=True)

    @classmethod
    def of(cls, lines: Iterable[str], own_lines: Iterable[str] = ()) -> Self | None:
        """Return the rules of both arguments, or None if there are no rules.

        `lines` are from a file that git reads. `own_lines` are from other ignore files and take
        precedence.
        """
        rules = [
            rule
            for own, group in ((False, lines), (True, own_lines))
            for line in group
            if (rule := _Rule.parse(line, own=own)) is not None
        ]
        return cls(rules) if rules else None

    def verdict(self, folder: str, name: str, *, is_dir: bool) -> _Rule | None:
        """Return the last matching rule, which decides, or None if no rule matches.

        `folder` is the path from the folder of the rules to the parent of `name`. This path is
        empty or ends with a slash.
        """
        path = folder + name
        if (
            name in self._names
            or name.endswith(self._endings)
            or path in self._paths
            or (self._name_expression and self._name_expression.fullmatch(name))
            or (self._path_expression and self._path_expression.fullmatch(path))
        ):
            for rule in self._rules:
                if (is_dir or not rule.folders_only) and rule.matches(path, name):
                    return rule
        return None


def _any_of(rules: list[_Rule], *, anchored: bool) -> re.Pattern[str] | None:
    bodies = [rule.expression for rule in rules if rule.expression and rule.anchored is anchored]
    return re.compile("|".join(f"(?:{body})" for body in bodies), re.DOTALL) if bodies else None


def _strip_trailing_spaces(line: str) -> str:
    end = len(line)
    while end and line[end - 1] == " " and not (end > 1 and line[end - 2] == "\\"):
        end -= 1
    return line[:end]


_Chain = list[tuple[str, _RuleSet]]
"""Rule sets, highest precedence first.

Each rule set has the path from its folder to the current folder.
"""


class IgnoreRules:
    """The ignore rules of a tree.

    The rules come from the ignore files of the tree and of the folders above it up to the git root.
    Git's own exclude files (see `files.git`) and a few default rules are added. Each file is read
    when it is first needed.
    """

    def __init__(self, root: Path) -> None:
        """`root` is the folder that paths are relative to. It may be below the git root."""
        self._root = os.fspath(root)
        self._chains: dict[str, _Chain] = {}
        self._above = _rules_above(root)
        self._tracked: Tracked | None = None
        self._only_tracked: set[str] = set()
        """Ignored folders that contain tracked files."""

    def ignored(self, relative_path: str, is_dir: bool) -> bool:
        """Whether `relative_path` (POSIX, relative to the root) or a folder above it is ignored.

        As in git, a file below an ignored folder cannot be included again.
        """
        *folders, name = relative_path.split("/")
        above = ""
        for folder in folders:
            if self.in_folder(above)(folder, True):
                return True
            above = f"{above}/{folder}" if above else folder
        return self.in_folder(above)(name, is_dir)

    def in_folder(
        self, folder: str, present: Iterable[str] = IGNORE_FILES
    ) -> Callable[[str, bool], bool]:
        """Return a function that decides whether a name in `folder` is ignored.

        The arguments of the returned function are `name` and `is_dir`. The function assumes that
        `folder` itself is not ignored. `present` has the names of the ignore files in `folder`. By
        default each possible name is tried.
        """
        chain = self._chain(folder, present)
        only_tracked = folder in self._only_tracked
        above = folder and folder + "/"

        def ignored(name: str, is_dir: bool) -> bool:
            if name in REPOSITORY_FOLDERS:
                return True
            rule = None
            for lead, rules in chain:
                rule = rules.verdict(lead, name, is_dir=is_dir)
                if rule is not None:
                    break
            if not only_tracked and (rule is None or rule.negated):
                return False
            if rule is not None and rule.own and not rule.negated:
                return True
            return not self._is_tracked(above + name, is_dir)

        return ignored

    @property
    def tracked(self) -> "Tracked":
        """The files that git tracks below the root."""
        if self._tracked is None:
            from treadle.code.files.git import Tracked, tracked_below

            root = Path(self._root)
            git_root = git_root_of(root)
            self._tracked = Tracked() if git_root is None else tracked_below(root, git_root)
        return self._tracked

    def _is_tracked(self, path: str, is_dir: bool) -> bool:
        """Whether git tracks the file at `path`, or any file in the folder at `path`."""
        if not is_dir:
            return path in self.tracked.files
        if path in self.tracked.submodules:
            return True
        found = path in self.tracked.folders
        if found:
            self._only_tracked.add(path)
        return found

    def _chain(self, folder: str, present: Iterable[str]) -> _Chain:
        chain = self._chains.get(folder)
        if chain is None:
            if folder:
                above, _, name = folder.rpartition("/")
                inherited = self._chain(above, IGNORE_FILES)
                chain = [(f"{lead}{name}/", rules) for lead, rules in inherited]
            else:
                chain = list(self._above)
            own = _read_folder(f"{self._root}/{folder}", present)
            if own is not None:
                chain.insert(0, ("", own))
            self._chains[folder] = chain
        return chain


def _read_folder(folder: str, present: Iterable[str] = IGNORE_FILES) -> _RuleSet | None:
    lines = {name: read_lines(f"{folder}/{name}") for name in present}
    of_git = lines.pop(_GIT_FILE, [])
    return _RuleSet.of(of_git, (line for each in lines.values() for line in each))


def git_root_of(root: Path) -> Path | None:
    """Return the root of the git work tree that contains `root`, or None if there is none.

    The root of a work tree is the nearest folder with a `.git`, starting at `root` itself.
    """
    return next(
        (folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None
    )


def read_lines(path: str) -> list[str]:
    """Return the lines of an ignore file.

    The result is empty if the file is absent, unreadable, a link, or too long.
    """
    try:
        data = read_regular(path, _MAX_IGNORE_FILE, follow=False)
    except OSError:
        return []
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _rules_above(root: Path) -> _Chain:
    """Return the rules from outside of `root` that apply to it, highest precedence first.

    The result has the rules of the folders up to the git root, git's exclude files, and the default
    rules. If the other rules exclude `root` itself, only the default rules apply, since a user who
    opens an ignored folder wants to see its files.
    """
    from treadle.code.files.git import exclude_files

    found: _Chain = []
    git_root = git_root_of(root)
    if git_root is not None and not _left_out(root, git_root):
        for folder in root.parents:
            if not folder.is_relative_to(git_root):
                break
            if (rules := _read_folder(os.fspath(folder))) is not None:
                found.append((_lead(folder, root), rules))
        for path in exclude_files(git_root):
            if (rules := _RuleSet.of(read_lines(path))) is not None:
                found.append((_lead(git_root, root), rules))
    if (defaults := _RuleSet.of(_DEFAULT_PATTERNS)) is not None:
        found.append(("", defaults))
    return found


def _left_out(root: Path, git_root: Path) -> bool:
    if root == git_root:
        return False
    return IgnoreRules(git_root).ignored(root.relative_to(git_root).as_posix(), is_dir=True)


def _lead(folder: Path, root: Path) -> str:
    below = root.relative_to(folder).as_posix()
    return "" if below == "." else below + "/"
