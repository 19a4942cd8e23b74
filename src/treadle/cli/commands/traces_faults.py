"""`treadle traces faults`: what went wrong, also where no status says so."""

import argparse
import os
from contextlib import closing
from dataclasses import asdict
from itertools import islice

from treadle.app.stores import open_trace_store
from treadle.cli.command import positive, repository
from treadle.cli.output import print_json, say, short_id, tell
from treadle.cli.trace_queries import Actions, add_query, typed_query

_MOST_SPANS = 2_000
_QUOTED = 160


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("faults", help="what went wrong, also where no status says so")
    add_query(parser)
    parser.add_argument(
        "--limit",
        type=positive,
        default=_MOST_SPANS,
        metavar="N",
        help=f"newest spans to read (default: {_MOST_SPANS})",
    )


def run(options: argparse.Namespace) -> int:
    """Print every finding with its place, the worst first."""
    from treadle.app.span_reading import whole_spans
    from treadle.config.loader import load
    from treadle.traces.detectors import Rule, Severity, detect
    from treadle.traces.tree import one_line

    query = typed_query(options.query)
    settings = load(repository(options), os.environ, {}).settings.traces.detectors
    with closing(open_trace_store()) as store:
        spans = list(islice(whole_spans(store, query, newest_first=True), options.limit))
    worst_first = list(Severity)
    findings = sorted(
        detect(spans, [Rule.of(rule) for rule in settings.rules]),
        key=lambda finding: worst_first.index(finding.severity),
    )
    if options.json:
        print_json({"spans": len(spans), "findings": [asdict(finding) for finding in findings]})
        return 0
    for finding in findings:
        place = finding.evidence
        also = f", {finding.repeats}" if finding.repeats else ""
        say(f"{finding.severity.value:6}  {finding.kind.value}: {one_line(finding.message)}{also}")
        say(f"        {short_id(place.span.trace_id)} {place.span.span_id} {place.field}")
        say(f"        “{one_line(place.quote, _QUOTED)}”")
    tell(f"{len(findings)} findings in {len(spans):,} spans.")
    return 0
