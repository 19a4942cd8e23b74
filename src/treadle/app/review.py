"""Reviews changes of a repository with what its code index knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treadle import __version__
from treadle.code import CodeIndex
from treadle.code.parse.file import items_of
from treadle.code.sandbox.workers import CallFailedError, call_apart
from treadle.review.changes import ChangedFile, Changes, Side, SkippedFile, read_changes
from treadle.review.findings import Finding, ReviewedItem, Rule, Severity, collect_facts
from treadle.review.items import ChangedItem, Version, compare_items

MAX_ITEMS = 400
"""The maximum number of items whose callers and tests are looked up."""


@dataclass(frozen=True, slots=True)
class Review:
    """The changed items between `base` and `target`, and findings about them.

    `files` counts the changed files. `not_reviewed` has the files and items that were left out.
    """

    base: str
    target: str
    files: int
    items: tuple[ReviewedItem, ...]
    findings: tuple[Finding, ...]
    tests_to_run: tuple[str, ...]
    not_reviewed: tuple[SkippedFile, ...]


def review(root: Path, index: CodeIndex, revisions: str | None, side: Side) -> Review:
    """Review the changes of the repository at `root`. See `read_changes` for the parameters.

    This function updates the index and blocks. Raises UsageError, GitError and StoreError.
    """
    changes = read_changes(root, revisions, side)
    index.refresh()
    changed, skipped = _changed_items(changes)
    for item in changed[MAX_ITEMS:]:
        reason = f"only the first {MAX_ITEMS} changed items are reviewed"
        skipped.append(SkippedFile(f"{item.file}: {item.canonical_path}", reason))
    facts = collect_facts(index, changed[:MAX_ITEMS])
    return Review(
        changes.base,
        changes.target,
        len(changes.files),
        facts.items,
        facts.findings,
        facts.tests_to_run,
        (*changes.skipped, *skipped),
    )


def _changed_items(changes: Changes) -> tuple[list[ChangedItem], list[SkippedFile]]:
    changed: list[ChangedItem] = []
    skipped: list[SkippedFile] = []
    for file in changes.files:
        try:
            before, after = (_version(file, data) for data in (file.before, file.after))
        except CallFailedError as error:
            skipped.append(SkippedFile(file.path, str(error)))
            continue
        changed += compare_items(file.path, before, after)
    return changed, skipped


def _version(file: ChangedFile, data: bytes | None) -> Version:
    if data is None:
        return Version(b"", ())
    return Version(data, call_apart(items_of, file.path, data))


_DESCRIPTIONS: Mapping[Rule, str] = {
    Rule.BROKEN_USE: "Code uses a name that the change removes.",
    Rule.UNCHANGED_CALLER: "A caller of an item with a changed signature was not changed.",
    Rule.UNCHANGED_OVERRIDE: "An override of a method with a changed signature was not changed.",
    Rule.UNTESTED: "No test uses a changed function directly.",
}


def sarif(reviewed: Review) -> dict[str, Any]:
    """Return the findings as a SARIF 2.1.0 log, which code scanning services read."""
    rules = [{"id": rule, "shortDescription": {"text": _DESCRIPTIONS[rule]}} for rule in Rule]
    results = [
        {
            "ruleId": finding.rule,
            "level": finding.severity,
            "message": {"text": finding.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": finding.file, "uriBaseId": "%SRCROOT%"},
                        "region": {"startLine": finding.line},
                    }
                }
            ],
        }
        for finding in reviewed.findings
    ]
    driver = {"name": "Treadle", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def is_at_least(finding: Finding, severity: Severity) -> bool:
    """Whether a finding is as severe as `severity`, or more."""
    order = list(Severity)
    return order.index(finding.severity) <= order.index(severity)
