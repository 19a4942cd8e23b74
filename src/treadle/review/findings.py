"""What the code index knows about changed items: broken uses, callers, tests."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from treadle.code import CodeIndex, Direction, EdgeKind
from treadle.code.model import FUNCTION_KINDS, FoundItem
from treadle.code.retrieval.hits import is_test
from treadle.review.items import ChangedItem, ItemChange

_CANDIDATES = 50


class Severity(StrEnum):
    """The severity of a finding, most severe first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Rule(StrEnum):
    """The rule that led to a finding."""

    BROKEN_USE = "broken-use"
    """Code uses the name of a removed item, and nothing else defines this name."""
    UNCHANGED_CALLER = "unchanged-caller"
    """The signature of an item changed, and a caller of the item did not."""
    UNCHANGED_OVERRIDE = "unchanged-override"
    """The signature of a method changed, and a method that overrides it did not."""
    UNTESTED = "untested"
    """No test uses a changed item."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement about one line of a file. `line` counts from 1."""

    rule: Rule
    severity: Severity
    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class ReviewedItem:
    """A changed item with the code that depends on it.

    `callers`, `tests` and `overrides` are places as `path:line name`. `total_callers` also counts
    callers that are not listed.
    """

    item: ChangedItem
    callers: tuple[str, ...] = ()
    total_callers: int = 0
    tests: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """The reviewed items, the findings, and the files with tests to run."""

    items: tuple[ReviewedItem, ...]
    findings: tuple[Finding, ...]
    tests_to_run: tuple[str, ...]


_LISTED = 10
_MAX_FINDINGS_PER_ITEM = 20


@dataclass(slots=True)
class _Collected:
    items: list[ReviewedItem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    tests: set[str] = field(default_factory=set)


def collect_facts(index: CodeIndex, changed: Sequence[ChangedItem]) -> Facts:
    """Return what the index knows about changed items. The index must be fresh.

    This function blocks.
    """
    collected = _Collected()
    touched = {(each.file, each.canonical_path) for each in changed}
    for item in changed:
        if is_test(item.file, item.canonical_path) and _is_run(item.file):
            if item.change is not ItemChange.REMOVED:
                collected.tests.add(item.file)
            collected.items.append(ReviewedItem(item))
        elif item.change is ItemChange.REMOVED:
            _add_removed(index, item, collected)
        else:
            _add_present(index, item, touched, collected)
    return Facts(
        tuple(collected.items),
        tuple(sorted(collected.findings, key=_order)),
        tuple(sorted(collected.tests)),
    )


_HELPERS = re.compile(r"(?:^|/)tests?/(?:.*/)?(?!test_)[^/]*(?<!_test)\.py$")


def _is_run(file: str) -> bool:
    """Whether a file of test code has tests of its own. Helpers for Python tests have none."""
    return not _HELPERS.search(file)


def _order(finding: Finding) -> tuple[int, str, int]:
    return list(Severity).index(finding.severity), finding.file, finding.line


def _add_removed(index: CodeIndex, item: ChangedItem, collected: _Collected) -> None:
    uses = index.broken_uses(item.name, item.file)
    collected.items.append(
        ReviewedItem(item, tuple(f"{use.file}:{use.line}" for use in uses[:_LISTED]), len(uses))
    )
    collected.findings += [
        Finding(
            Rule.BROKEN_USE,
            Severity.ERROR,
            use.file,
            use.line,
            f"{use.text} is used here, but the change removes {item.canonical_path} from"
            f" {item.file}, and nothing else defines it.",
        )
        for use in uses[:_MAX_FINDINGS_PER_ITEM]
    ]


def _add_present(
    index: CodeIndex, item: ChangedItem, touched: set[tuple[str, str]], collected: _Collected
) -> None:
    callers: dict[tuple[str, int], FoundItem] = {}
    tests: dict[tuple[str, int], FoundItem] = {}
    overrides: dict[tuple[str, int], FoundItem] = {}
    kinds = (EdgeKind.CALLS, EdgeKind.TESTS, EdgeKind.OVERRIDES)
    for found in _found(index, item):
        for edge in index.edges(found.id, kinds=kinds, direction=Direction.IN).edges:
            if edge.target is None:
                continue
            place = edge.file, edge.line
            if edge.kind is EdgeKind.OVERRIDES:
                overrides[place] = edge.source
            elif is_test(edge.file, edge.source.canonical_path):
                tests[place] = edge.source
            else:
                callers[place] = edge.source
    collected.tests |= {file for file, _ in tests if _is_run(file)}
    collected.items.append(
        ReviewedItem(item, _places(callers), len(callers), _places(tests), _places(overrides))
    )
    if item.change is ItemChange.SIGNATURE:
        for rule, others in (
            (Rule.UNCHANGED_CALLER, callers | tests), (Rule.UNCHANGED_OVERRIDE, overrides)
        ):  # fmt: skip
            collected.findings += _unchanged(item, rule, others, touched)
    is_code = not is_test(item.file, item.canonical_path)
    if not tests and is_code and item.kind in FUNCTION_KINDS:
        collected.findings.append(
            Finding(
                Rule.UNTESTED,
                Severity.NOTE,
                item.file,
                item.start_line,
                f"No test uses {item.canonical_path} directly.",
            )
        )


def _unchanged(
    item: ChangedItem,
    rule: Rule,
    others: dict[tuple[str, int], FoundItem],
    touched: set[tuple[str, str]],
) -> Iterable[Finding]:
    verb = "calls" if rule is Rule.UNCHANGED_CALLER else "overrides"
    unchanged = [
        (place, other)
        for place, other in others.items()
        if (other.file, other.canonical_path) not in touched
    ]
    for (file, line), other in unchanged[:_MAX_FINDINGS_PER_ITEM]:
        yield Finding(
            rule,
            Severity.WARNING,
            file,
            line,
            f"{other.canonical_path} {verb} {item.canonical_path}, whose signature changed, and"
            " was not changed.",
        )


def _found(index: CodeIndex, item: ChangedItem) -> list[FoundItem]:
    found = index.lookup(item.canonical_path, file=item.file, limit=_CANDIDATES).items
    return [
        each
        for each in found
        if (each.canonical_path, each.file) == (item.canonical_path, item.file)
    ]


def _places(found: dict[tuple[str, int], FoundItem]) -> tuple[str, ...]:
    return tuple(
        f"{file}:{line} {item.canonical_path}"
        for (file, line), item in sorted(found.items())[:_LISTED]
    )
