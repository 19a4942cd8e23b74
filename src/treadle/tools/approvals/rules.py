"""The rules of `[approvals]`, and their verdict on a subject."""

import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from treadle.config.approval_rules import ApprovalRule
from treadle.config.model import ApprovalSettings
from treadle.paths import is_directory, resolve_inside, why_private_file
from treadle.private_files import why_private
from treadle.protected_files import why_protected
from treadle.tools.approvals.question import Policy, Subject


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a call, and the reason. The reason is empty if no rule covers the call."""

    policy: Policy
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedSubject:
    """A subject in the form that rules match.

    `paths` has its path twice, relative to the root: as given, and with all links followed. `real`
    is the absolute path with all links followed.
    """

    subject: Subject
    paths: tuple[str, ...] = ()
    real: Path | None = None

    @classmethod
    def of(cls, subject: Subject, root: Path) -> "ResolvedSubject":
        """Resolve a subject. Raises PathRefusedError for a path outside the root."""
        if subject.path is None:
            return cls(subject)
        real = resolve_inside(root, subject.path)
        resolved = real.relative_to(root).as_posix()
        given = posixpath.normpath(
            posixpath.relpath(subject.path, root.as_posix())
            if posixpath.isabs(subject.path)
            else subject.path
        )
        inside = not given.startswith("..")
        return cls(subject, tuple(dict.fromkeys([resolved, *([given] if inside else [])])), real)

    @property
    def private(self) -> str | None:
        """The reason why reading the path needs consent, or None."""
        is_folder = self.real is not None and is_directory(self.real)
        reasons = (why_private(path, is_folder=is_folder) for path in self.paths)
        by_name = next(filter(None, reasons), None)
        if by_name is None and self.real is not None:
            return why_private_file(self.real)
        return by_name

    @property
    def protected(self) -> str | None:
        """The reason why a change of the path always needs approval, or None."""
        return self.subject.protected or next(filter(None, map(why_protected, self.paths)), None)


class _Matcher:
    def __init__(self, rule: ApprovalRule) -> None:
        self.rule = rule
        self._words = _words_of(rule.command or "")
        self._path: Callable[[str], bool] | None = None

    def is_about(self, tool: str, target: ResolvedSubject) -> bool:
        """Whether the rule covers this subject of a call of `tool`."""
        if not fnmatchcase(tool, self.rule.tool):
            return False
        if self.rule.command is not None:
            command, shell = target.subject.command, target.subject.shell
            if shell is not None:
                return any(map(self._begins, (shell.words, *shell.spellings)))
            return command is not None and fnmatchcase(command, self.rule.command)
        return self.rule.path is None or any(map(self.matches, target.paths))

    def allows(self, tool: str, target: ResolvedSubject) -> bool:
        """Whether the rule covers this subject closely enough to allow it.

        The rule must match the words of a shell command as they are written. It must name enough of
        them: a rule for `git` does not allow `git push`.
        """
        shell = target.subject.shell
        if shell is None or self.rule.command is None:
            return self.is_about(tool, target)
        named = len(self._words)
        return (
            fnmatchcase(tool, self.rule.tool)
            and self._begins(shell.words)
            and (named == 0 or named >= shell.least)
        )

    def _begins(self, words: tuple[str, ...]) -> bool:
        """Whether the words of the rule match the first words of a command."""
        return len(self._words) <= len(words) and all(map(fnmatchcase, words, self._words))

    def matches(self, path: str) -> bool:
        """Whether the pattern of the rule matches a path relative to the root."""
        if self._path is None:
            from pathspec import GitIgnoreSpec

            assert self.rule.path is not None
            self._path = GitIgnoreSpec.from_lines([self.rule.path]).match_file
        # A pattern that ends with a slash matches only folders, so the path is also tried as a
        # folder.
        return self._path(path) or self._path(f"{path}/")

    @property
    def names_private(self) -> bool:
        """Whether the pattern of the rule names private files.

        A rule that allows such a pattern gives consent to read them.
        """
        return self.rule.path is not None and why_private(self.rule.path) is not None


class Rules:
    """The settings of `[approvals]`.

    If several rules cover a call, a deny rule has precedence over ask rules, and an ask rule has
    precedence over allow rules.
    """

    def __init__(self, settings: ApprovalSettings) -> None:
        self._deny = _matchers(settings.deny)
        self._ask = _matchers(settings.ask)
        self._allow = _matchers(settings.allow)

    def verdict(  # noqa: PLR0911  (one line for each rule, in their order)
        self, tool: str, target: ResolvedSubject, otherwise: Policy
    ) -> Verdict:
        """Return the verdict on a call of `tool` about `target`.

        If no rule covers the call, `otherwise` is the verdict. A file that usually contains secrets
        needs the consent of a person. An allow rule replaces this consent only if its pattern names
        such files.
        """
        about = partial(_first, tool=tool, target=target)
        if denied := about(self._deny):
            return Verdict(Policy.DENY, f"The rule `{denied.rule}` refuses it.")
        allowed = next((each for each in self._allow if each.allows(tool, target)), None)
        private = target.private
        if private and about([each for each in self._allow if each.names_private]) is None:
            return Verdict(Policy.ASK, f"It needs consent: {private}.")
        if otherwise is Policy.ASK and target.protected:  # the call would change something
            return Verdict(Policy.ASK, f"It always needs approval: {target.protected}.")
        if ask_rule := about(self._ask):
            return Verdict(Policy.ASK, f"The rule `{ask_rule.rule}` requires approval.")
        if not allowed:
            return Verdict(otherwise, _NOT_USED if otherwise is Policy.DENY else "")
        if target.subject.program is not None and target.subject.program.inside:
            return Verdict(
                Policy.ASK,
                f"The rule `{allowed.rule}` covers only programs outside the repository.",
            )
        return Verdict(Policy.ALLOW)

    def may_allow(self, tool: str) -> bool:
        """Whether an `allow` rule covers some calls of `tool`."""
        return any(fnmatchcase(tool, each.rule.tool) for each in self._allow)

    def open_to(self, tool: str, path: str) -> bool:
        """Whether `tool` may read a path that the call did not name.

        The path is relative to the root and must contain no links. Only rules with paths count.
        Nobody is asked, so an ask rule forbids the path.
        """
        about = [each for each in (*self._deny, *self._ask) if each.rule.path is not None]
        return not any(fnmatchcase(tool, each.rule.tool) and each.matches(path) for each in about)


def _words_of(pattern: str) -> tuple[str, ...]:
    """Return the words of a rule about commands. `*` at the end stands for any further words."""
    words = pattern.split()
    while words and words[-1] == "*":
        words.pop()
    return tuple(words)


_NOT_USED = "No rule allows the tool, so it is not used."


def _matchers(rules: Iterable[str]) -> list[_Matcher]:
    return [_Matcher(ApprovalRule.parse(rule)) for rule in rules]


def _first(matchers: Iterable[_Matcher], *, tool: str, target: ResolvedSubject) -> _Matcher | None:
    return next((each for each in matchers if each.is_about(tool, target)), None)
