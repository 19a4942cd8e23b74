"""`treadle traces import`: import spans from files of `traces export` and from OTLP/JSON."""

import argparse
import os
from collections import Counter
from contextlib import closing
from pathlib import Path

from treadle.app.stores import open_trace_store
from treadle.cli.command import RepositoryUse, repository, set_repository_use
from treadle.cli.output import print_json, print_text, report_line
from treadle.cli.trace_queries import Actions


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("import", help="import spans from files (JSON lines or OTLP/JSON)")
    set_repository_use(parser, RepositoryUse.SETTINGS)
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="the files; they may be compressed"
    )


def run(options: argparse.Namespace) -> int:
    """Import all files, one batch at a time."""
    from treadle.app.recorder import set_redaction_rules
    from treadle.config.loader import load
    from treadle.llm.profiles import register_keys
    from treadle.spans.redaction import redact_spans
    from treadle.spans.span_files import read_spans

    settings = load(repository(options), os.environ, {}).settings
    set_redaction_rules(settings.traces.redaction)
    register_keys(settings, os.environ)
    imported = rejected = damaged = 0
    reasons: list[str] = []
    warnings: list[str] = []
    redactions: Counter[str] = Counter()
    with closing(open_trace_store()) as store:
        for file in options.files:
            for batch in read_spans(file):
                spans, counts = redact_spans(batch.spans)
                store.write(spans, redacted=counts).result()
                imported += len(spans)
                rejected += batch.rejected
                reasons += batch.reasons
                damaged += batch.damaged
                warnings += batch.warnings
                redactions.update(counts)
    if options.json:
        summary = {"spans": imported, "rejected": rejected, "reasons": reasons}
        fields = {"damaged": damaged, "warnings": warnings}
        print_json({**summary, **fields, "redacted": dict(redactions)})
        return 0
    print_text(f"{imported:,} spans imported.")
    if rejected:
        report_line(f"{rejected:,} spans were rejected: {'; '.join(reasons)}")
    if damaged:
        report_line(f"{damaged:,} fields were not readable: {'; '.join(warnings)}")
    if redactions:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(redactions.items()))
        report_line(f"Secrets removed: {kinds}.")
    return 0
