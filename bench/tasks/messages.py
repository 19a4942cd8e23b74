"""Commit messages as queries: text that does not describe a task is removed, or the message is
rejected.
"""

import re
from collections.abc import Collection, Iterable

from bench.tasks.history import Commit
from treadle.code.terms import STOP_WORDS

MIN_WORDS = 4
LONG_WORDS = 40
"""Informative words from which on a message counts as long as a written issue."""

_CONVENTIONAL = re.compile(
    r"^(?:feat|feature|fix|bugfix|perf|refactor|refact|chore|build|revert|style|hotfix|improvement"
    r"|docs?|tests?|ci)(?:\([^)]*\))?!?:\s+",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:\[[^\]]{1,40}\][\s:-]*|[A-Z]{2,9}-\d{2,6}\b[\s:.-]*|\(?#\d+\)?[\s:.-]*)+"
)
"""A ticket or a topic in front of a subject."""
_TRAILER = re.compile(
    r"^\s*(?:[A-Z][\w-]*-by|cc|fixes|closes|resolves|refs?|see(?: also)?|related(?: to)?|change-id"
    r"|pr(?:-url)?|issue|link|bug|part[- ]of|backport|git-svn-id|reviewed-on|github|(?:bug-)?url)"
    r"\s*:.*$|^\s*\(?cherry[- ]picked from.*$|^\s*(?:---+|___+|\* \* \*)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_ISSUE = re.compile(
    r"\(?\b(?:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|issues?|pr|pull request|"
    r"related to|part of)[\s:]*)?(?:(?:[\w.-]+/[\w.-]+|gh-?|pr\s?)?#\d+|\bgh-\d+)"
    r"(?:\s*(?:,|and)\s*#\d+)*\)?|\(?#\d+\)?",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://\S+|\b[\w.+-]+@[\w-]+\.[\w.]+")
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_WORD = re.compile(r"[^\W\d_]{3,}")
_ROUTINE = re.compile(
    r"^\s*(?:merge\b|revert\b|\"?revert|reapply\b|bump\b|release\b|prepare\b|version\b|v?\d+\.\d+"
    r"|typos?\b|fix(?:e[sd])?\s+(?:\w+\s+)?typos?\b|lint\b|format(?:ting)?\b|reformat|style\b"
    r"|docs?\b|documentation\b|readme\b|changelog\b|chore\(deps|(?:build|fix)\(deps"
    r"|translat|spelling|whitespace|prettier\b|rustfmt|cargo fmt|gofmt|clippy\b|rubocop\b|black\b"
    r"|ci\b|github actions?\b|tests?\b[(:]|chore: release|wip\b|back to|prettify|sort imports)"
    r"|\b(?:bump(?:s|ed)? (?:the )?(?:\S+ )?(?:version|from|to)|typos?\b|(?:update|upgrade)[sd]?"
    r" (?:\S+ ){0,3}(?:dependenc|deps\b|submodule|version|copyright|licen[cs]e|changelog|readme)"
    r"|(?:code|coding) ?style|copyright|reformat(?:ted)?|lint(?:er|ing)?\b|clippy|rustfmt"
    r"|clang-format"
    r"|license header|release notes|trailing whitespace|php-cs-fixer|phpstan|psalm|pyupgrade"
    r"|code review|review comments|address (?:review|feedback|comments))"
    r"|(?:dependencies|deps)\b.*\b(?:update|bump)|update\b.*\bto v?\d+\.",
    re.IGNORECASE,
)
_BOT = re.compile(r"\bbot\b|\[bot\]|dependabot|renovate|weblate|greenkeeper|snyk", re.IGNORECASE)
_ASIDE = re.compile(r"(?:docs?|style|ci|tests?|build)(?:\([^)]*\))?!?:", re.IGNORECASE)
_CODE_MARK = r"(?:(?<=[`.:#>])|(?<=::))"


def is_routine(commit: Commit) -> bool:
    """Whether a commit is housekeeping: merges, reverts, versions, formatting, documents, bots."""
    subject = _CONVENTIONAL.sub("", commit.subject)
    return (
        len(commit.parents) != 1
        or bool(_BOT.search(commit.author))
        or bool(_ASIDE.match(commit.subject))
        or bool(_ROUTINE.search(commit.subject) or _ROUTINE.search(subject))
    )


def query_of(commit: Commit) -> str:
    """Subject and body without prefixes, trailers, links, issue numbers and hashes."""
    subject = _LABEL.sub("", _CONVENTIONAL.sub("", commit.subject))
    body = _TRAILER.sub("", _COMMENTS.sub("", commit.body))
    text = f"{subject}\n\n{body}"
    for pattern in (_ADDRESS, _ISSUE, _HASH):
        text = pattern.sub(" ", text)
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(" \n\t-*:")


def informative_words(text: str) -> int:
    """The number of different informative words."""
    return len({word.lower() for word in _WORD.findall(text)} - STOP_WORDS)


def without_names(text: str, names: Iterable[str], paths: Iterable[str]) -> str:
    """`text` without the names of changed items and files, and without paths to them.

    A name of one plain word ("open") is removed only if it is written as code, since it may be a
    verb of the sentence.
    """
    stems: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        for whole in (path, name):
            text = re.sub(rf"(?<![\w/]){re.escape(whole)}(?!\w)", " ", text, flags=re.IGNORECASE)
        stems.add(name.partition(".")[0])
        stems.add(name.rpartition(".")[0])
        folders.update(part for part in folder.lower().split("/") if part)
    text = _without_prefix(text, folders | {stem.lower() for stem in stems})
    for name in sorted({*names, *stems} - {""}, key=lambda name: (-len(name), name)):
        escaped = re.escape(name)
        if _is_plain(name):
            pattern = rf"`{escaped}`|{_CODE_MARK}{escaped}\b|\b{escaped}(?=\(|::|\.\w)"
            text = re.sub(pattern, " ", text)
        else:
            text = re.sub(rf"(?<!\w){escaped}(?!\w)", " ", text, flags=re.IGNORECASE)
    return re.sub(r"[ \t]{2,}", " ", text).strip()


def _is_plain(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Z]?[a-z]+", name))


def _without_prefix(text: str, known: Collection[str]) -> str:
    """Without a prefix such as `net/http: ` that states the location of the change."""
    match = re.match(r"([\w./*{},\- ]{1,60}):\s+(?=\S)", text)
    if match and {part.strip().lower() for part in re.split(r"[/,{}. ]+", match[1])} & set(known):
        return text[match.end() :]
    return text
