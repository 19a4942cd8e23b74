"""`treadle traces faults`: faults of spans, including those that no status shows."""

import argparse
import os
from contextlib import closing
from typing import TYPE_CHECKING

from treadle.app.stores import open_trace_store
from treadle.cli.command import positive, repository
from treadle.cli.output import print_json, print_line, print_text, report, short_id
from treadle.cli.trace_queries import Actions, add_query, listed_query
from treadle.json_values import to_json

if TYPE_CHECKING:
    from treadle.diagnosis.detectors import Finding, Rule
    from treadle.traces import SqliteTraceStore

_MOST_FINDINGS = 50
_AT_ONCE = 5_000
_QUOTED = 160


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("faults", help="list faults, including those that no status shows")
    add_query(parser)
    parser.add_argument(
        "--limit",
        type=positive,
        default=_MOST_FINDINGS,
        metavar="N",
        help=f"the maximum number of findings, worst first (default: {_MOST_FINDINGS})",
    )


def run(options: argparse.Namespace) -> int:
    """Print the findings with their positions, the most severe first."""
    from treadle.app.background_examination import rules_of
    from treadle.config.loader import load
    from treadle.diagnosis.detectors import Severity
    from treadle.diagnosis.findings import findings

    query = listed_query(options)
    settings = load(repository(options), os.environ, {}).settings.traces.detectors
    with closing(open_trace_store()) as store:
        _examine_all(store, rules_of(settings))
        found = findings(store, query, rules=rules_of(settings), limit=options.limit)
    worst_first = list(Severity)
    worst = sorted(found.data, key=lambda finding: worst_first.index(finding.severity))
    if options.json:
        counts = {
            name: getattr(found, name) for name in ("snapshot", "spans", "unexamined", "total")
        }
        print_json({**counts, "findings": [to_json(finding) for finding in worst]})
        return 0
    for finding in worst:
        _show(finding)
    shown = f"; the worst {len(worst)} are shown" if len(worst) < found.total else ""
    report(f"{found.total:,} findings in {found.spans:,} spans{shown}.")
    if found.unexamined:
        report(f"{found.unexamined:,} new spans are not examined yet. Run the command again.")
    return 0


def _examine_all(store: "SqliteTraceStore", rules: "tuple[Rule, ...]") -> None:
    """Examine all new spans. The store keeps the results."""
    done = 0
    from treadle.diagnosis.findings import examiners

    while (number := store.examine(examiners(rules), most=_AT_ONCE)) == _AT_ONCE:
        done += number
        report(f"{done:,} spans examined for the first time so far.")


def _show(finding: "Finding") -> None:
    from treadle.cli.output import one_line

    place = finding.evidence
    also = f", {finding.repeats}" if finding.repeats else ""
    print_text(
        f"{finding.severity.value:6}  {finding.kind.value}: {one_line(finding.message)}{also}"
    )
    print_line(f"        {short_id(place.span.trace_id)} {place.span.span_id} {place.field}")
    print_text(f"        “{one_line(place.quote, _QUOTED)}”")
