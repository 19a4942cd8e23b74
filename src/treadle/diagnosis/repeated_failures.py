"""Groups findings in which the same tool fails in the same way in several spans."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from treadle.diagnosis.detectors import Finding, Kind
from treadle.diagnosis.evidence import SpanReference

_CHANGING = re.compile(r"[0-9A-Fa-f]*[0-9][0-9A-Fa-fx]*")
"""Matches numbers, ids and addresses, which differ from one failure to the next."""
_COMPARED_CHARACTERS = 120
_MIN_SPANS = 2


@dataclass(frozen=True, slots=True)
class RepeatedFailure:
    """Findings of the same kind and tool whose quotes differ only by numbers and ids."""

    name: str
    """The name of the tool. It is empty for findings without a tool."""
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The first of the findings."""
        return self.findings[0]

    @property
    def spans(self) -> tuple[SpanReference, ...]:
        """The spans that show the failure, in order."""
        return tuple(dict.fromkeys(each.evidence.span for each in self.findings))

    @property
    def later_spans(self) -> int:
        """The number of later spans that only repeat the failure, for example in their history."""
        return len({span for each in self.findings for span in each.also_in})


_SAME = {Kind.STATUS: Kind.EXCEPTION}
"""Kinds that describe the same failure: an error status, with or without a recorded exception."""


def failure_text(quote: str) -> str:
    """Return the part of a quote that equal failures share.

    Numbers and ids are replaced, and the text is cut to 120 characters.
    """
    return _CHANGING.sub("#", quote[:_COMPARED_CHARACTERS])


def repeated_failures(findings: Iterable[Finding]) -> tuple[RepeatedFailure, ...]:
    """Return the failures that at least two spans show, the most frequent first.

    A span whose history only repeats an earlier failure does not count.
    """
    equal: dict[tuple[Kind, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        equal[finding.kind, finding.tool, finding.evidence.quote].append(finding)
    groups: dict[tuple[Kind, str, str], list[Finding]] = defaultdict(list)
    for (kind, tool, quote), found in equal.items():
        groups[_SAME.get(kind, kind), tool, failure_text(quote)] += found
    repeated = [RepeatedFailure(key[1], tuple(group)) for key, group in groups.items()]
    several = [each for each in repeated if len(each.spans) >= _MIN_SPANS]
    return tuple(sorted(several, key=lambda each: -len(each.spans)))
