"""Reads how a repository words its commit messages."""

import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treadle.git import GitError, run_git

COMMITS = 60
"""The number of recent commits that are read. Merge commits are not counted."""

EXAMPLES = 12
_EXAMPLE_CHARACTERS = 100

SUBJECT_CHARACTERS = 72
"""The maximum length of a subject, unless the repository often has longer subjects."""

_LONG_SUBJECT_CHARACTERS = 100

_MOST = 0.6
"""The fraction of the recent commits that have to follow a convention."""

_CONVENTIONAL = re.compile(r"[a-z]+(?:\([^()\n]+\))?!?: \S")
_SCOPED = re.compile(r"[\w./*,{}-]+(?: ?[\w./*,{}-]+)?: \S")


@dataclass(frozen=True, slots=True)
class CommitStyle:
    """The conventions of the recent commits.

    `subjects` are their subjects, newest first. `limit` is the maximum number of characters of a
    subject. `prefixed` states that subjects begin with a type or an area and a colon. It contains
    an example, and is None without such a convention.
    """

    subjects: tuple[str, ...] = ()
    limit: int = SUBJECT_CHARACTERS
    prefixed: str | None = None
    capitalised: bool = True
    full_stop: bool = False
    bodies: bool = True

    def rules(self) -> tuple[str, ...]:
        """Return the conventions as sentences for a model."""
        rules = [f"The subject has at most {self.limit} characters."]
        if self.prefixed:
            rules.append(f"The subject begins with a prefix and a colon, as in: {self.prefixed}")
        else:
            rules.append(
                f"The subject begins with {'an upper' if self.capitalised else 'a lower'}-case"
                " letter and has no type prefix."
            )
        rules.append(f"The subject ends {'with' if self.full_stop else 'without'} a full stop.")
        rules.append(
            "A body of one to three sentences gives the reason, if it is not obvious."
            if self.bodies
            else "Most commits here have no body: write one only if the reason is not obvious."
        )
        return tuple(rules)


def read_style(root: Path) -> CommitStyle:
    """Return the style of the recent commits of the repository at `root`.

    A repository without commits has the default style.
    """
    try:
        output = run_git(
            root, "log", "--no-merges", "-z", f"--max-count={COMMITS}", "--no-show-signature",
            "--encoding=UTF-8", "--format=%s%n%b",
        )  # fmt: skip
    except GitError:  # there is no commit yet
        return CommitStyle()
    messages = [part for part in output.decode("utf-8", "replace").split("\0") if part.strip()]
    return style_of(messages)


def style_of(messages: list[str]) -> CommitStyle:
    """Return the style of messages. Each has its subject in the first line."""
    pairs = [message.partition("\n")[::2] for message in messages]
    subjects = [subject.strip() for subject, _ in pairs if subject.strip()]
    if not subjects:
        return CommitStyle()
    shown = tuple(subject[:_EXAMPLE_CHARACTERS] for subject in subjects[:EXAMPLES])
    texts = [subject.split(": ", 1)[-1] for subject in subjects]
    conventional = [each for each in subjects if _CONVENTIONAL.match(each)]
    scoped = [each for each in subjects if _SCOPED.match(each)]
    prefixed = next(
        (found[0] for found in (conventional, scoped) if len(found) >= _MOST * len(subjects)), None
    )
    lengths = sorted(map(len, subjects))
    longest = lengths[int(0.9 * (len(lengths) - 1))]
    return CommitStyle(
        subjects=shown,
        limit=min(max(longest, SUBJECT_CHARACTERS), _LONG_SUBJECT_CHARACTERS),
        prefixed=prefixed and prefixed[:_EXAMPLE_CHARACTERS],
        capitalised=_share(text[0].isupper() for text in texts if text) >= 1 - _MOST,
        full_stop=_share(subject.endswith(".") for subject in subjects) >= _MOST,
        bodies=_share(bool(_without_trailers(body)) for _, body in pairs) >= 1 - _MOST,
    )


def _share(values: Iterable[bool]) -> float:
    found = [float(value) for value in values]
    return statistics.fmean(found) if found else 0.0


_TRAILER = re.compile(r"^[A-Za-z]+(?:-[A-Za-z]+)+:.*$", re.MULTILINE)


def _without_trailers(body: str) -> str:
    return _TRAILER.sub("", body).strip()
