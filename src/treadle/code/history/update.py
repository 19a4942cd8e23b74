"""Updates the stored history: reads missing commits, and removes those that are too old."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from treadle.code.history.head import Head
from treadle.code.history.tables import (
    ID_BYTES,
    MAX_FILES,
    MAX_NUMBER,
    WINDOW,
    Change,
    Columns,
    Mark,
    add_terms,
    forget_history,
    key_of,
    next_number,
    read_mark,
    term_key,
)
from treadle.code.storage.store import Store

if TYPE_CHECKING:
    from treadle.code.history.commits import Commit, Git

STEP = 500
"""The number of commits that one refresh adds. More commits would delay the first search."""
_MAX_NEW_COMMITS = 50
"""If HEAD has at most this many new commits, git lists only these commits.

Otherwise git lists all commits up to `WINDOW`.
"""


def update_history(root: Path, store: Store, *, most: int = STEP) -> bool:
    """Extend the stored history by up to `most` older commits, and add new commits of HEAD.

    Returns whether older commits are still missing. If git fails or is absent, the stored history
    does not change.
    """
    head = Head.of(root)
    with store.reading() as connection:
        known = read_mark(connection)
    if head is None:
        if known is not None:
            drop_history(store)
        return False
    mark = _next_mark(head, known, most)
    if mark != known:
        try:
            _read_on(head, store, known, mark)
        except OSError:  # git is absent, or the disk is full
            return False
    return mark.reach < WINDOW


def drop_history(store: Store) -> None:
    """Delete the stored history, if it exists."""
    with store.reading() as connection:
        if read_mark(connection) is None:
            return
    with store.writing() as connection:
        forget_history(connection)


def _next_mark(head: Head, known: Mark | None, most: int) -> Mark:
    shallow = crc32(head.shallow)
    reach = 0 if known is None or known.shallow != shallow else known.reach
    return Mark(head.commit, shallow, min(WINDOW, reach + most))


def _read_on(head: Head, store: Store, known: Mark | None, mark: Mark) -> None:
    # imported late, since it is only needed if commits are missing
    from treadle.code.history.commits import Git

    stored: dict[bytes, Change] = {}
    first = 0
    if (
        known is not None and known.shallow == mark.shallow
    ):  # a new shallow list makes the stored changes uncertain
        with store.reading() as connection:
            stored = {change.id: change for change in Columns.read(connection).changes()}
            first = next_number(connection)
    with Git(head) as git:
        order, listed = _listed(git, known, mark, stored)
        missing = [each for each in listed if _short(each) not in stored]
        if first + len(missing) > MAX_NUMBER:
            stored, first, missing = {}, 0, git.commits(mark.reach)
        commits = git.read(missing)
    if len(order) < mark.reach:  # the history has no more commits
        mark = mark._replace(reach=WINDOW)
    with store.writing() as connection:
        if read_mark(connection) != known:
            return  # another process has already stored the history
        if first == 0:
            forget_history(connection)
        for change in _added(connection, commits, head.prefix, first):
            stored[change.id] = change
        columns = Columns.of([stored[each] for each in order if each in stored])
        columns.write(connection, mark, first + len(commits))


def _listed(
    git: "Git", known: Mark | None, mark: Mark, stored: Mapping[bytes, Change]
) -> tuple[list[bytes], list[str]]:
    """Return the short ids of all commits to keep, and the full ids of the commits to read.

    Both lists are ordered newest first. Some of the commits to read may already be stored.
    """
    if stored and known is not None and known.reach == mark.reach:
        chain = _chain_to(known.head, git.parents(_MAX_NEW_COMMITS))
        if chain is not None:
            return [*map(_short, chain), *stored][: mark.reach], chain
    listed = git.commits(mark.reach)
    return [_short(each) for each in listed], listed


def _chain_to(commit: str, lines: Iterable[Sequence[str]]) -> list[str] | None:
    """Return the commits after `commit`, newest first, or None if the list is uncertain.

    The result is None if the commits include a merge or `commit` is not found.
    """
    found: list[str] = []
    for identifier, *parents in lines:
        if identifier == commit:
            return found
        if len(parents) != 1:  # a merge can add commits that are older than the stored commits
            return None
        found.append(identifier)
    return None


def _added(
    connection: sqlite3.Connection, commits: Iterable["Commit"], prefix: bytes, first: int
) -> list[Change]:
    """Store the terms of commits, which are numbered from `first`, and return the changes."""
    # imported late, since the import compiles regular expressions
    from treadle.code.history.commits import message_terms

    found: list[Change] = []
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    for number, commit in enumerate(commits, first):
        keys: list[int] = []
        if len(commit.paths) <= MAX_FILES:
            keys = [
                key_of(path.removeprefix(prefix))
                for path in commit.paths
                if path.startswith(prefix)
            ]
        terms = {term_key(term) for term in message_terms(commit.message)} if keys else set()
        for term in terms:
            numbers[term].append(number)
        found.append(Change(_short(commit.id), number, len(terms), keys))
    add_terms(connection, numbers)
    return found


def _short(commit: str) -> bytes:
    return bytes.fromhex(commit)[:ID_BYTES]
