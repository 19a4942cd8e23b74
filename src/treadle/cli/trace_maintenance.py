"""The sub-commands of `treadle traces` that export, import, prune and redact recorded spans."""

import argparse
import os
import sys
import time
from collections import Counter
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.cli.command import RepositoryUse, age, positive, repository, set_repository_use
from treadle.cli.output import print_json, print_text, report, report_line
from treadle.cli.trace_queries import Actions, add_output, add_query, typed_query, write_output
from treadle.config.quantities import age_us, shown_size, size_bytes
from treadle.errors import UsageError
from treadle.identity.records import Action
from treadle.json_values import to_json

if TYPE_CHECKING:
    from treadle.secrets import Rule


def configure_export(actions: Actions) -> None:
    """Add the sub-command `export`."""
    parser = actions.add_parser(
        "export", help="write complete spans, or one trace, run or thread as an HTML page"
    )
    add_query(parser)
    add_output(parser)
    parser.add_argument(
        "--format",
        choices=("jsonl", "otlp-json"),
        default="jsonl",
        help="jsonl is lossless; otlp-json is for OpenTelemetry tools (default: jsonl)",
    )
    parser.add_argument(
        "--html",
        metavar="ID",
        help="write the trace, run or thread with this id (or LAST) as one HTML page",
    )


def export_spans(options: argparse.Namespace) -> int:
    """Write the spans that match the query, oldest first, and return the exit status."""
    from treadle.spans.otlp.writer import write_otlp, write_otlp_lines
    from treadle.spans.span_files import write_span_lines, write_spans
    from treadle.traces.span_stream import whole_spans

    if options.html is not None:
        return _export_page(options)
    query = typed_query(options)
    to_file, to_stream = (
        (write_spans, write_span_lines)
        if options.format == "jsonl"
        else (write_otlp, write_otlp_lines)
    )
    with closing(Stores.of_user().open_traces()) as store:
        spans = whole_spans(store, query)
        if options.output == "-":
            written = to_stream(sys.stdout.buffer, spans)
            sys.stdout.buffer.flush()
            record(Action.EXPORT, f"traces export: {written:,} spans")
            report(f"{written:,} spans written.")
            return 0
        written = to_file(Path(options.output), spans)
    record(Action.EXPORT, f"traces export: {written:,} spans")
    if options.json:
        print_json({"spans": written, "file": options.output})
    else:
        report(f"Wrote {written:,} spans to {options.output}.")
    return 0


def _export_page(options: argparse.Namespace) -> int:
    """Write a trace, a run or a thread as an HTML page, and return the exit status."""
    from treadle.display.trace_html import html_page
    from treadle.traces.subjects import find_subject, traces_of

    if options.query or options.repo or options.format != "jsonl":
        raise UsageError(
            "--html takes no query, --repo or --format.",
            hint="Pass the id of one trace, run or thread, such as --html LAST.",
        )
    with closing(Stores.of_user().open_traces()) as store:
        subject = find_subject(store, options.html)
        write_output(options, html_page(str(subject), traces_of(store, subject)))
    record(Action.EXPORT, f"traces export --html: {subject}")
    return 0


def configure_import(actions: Actions) -> None:
    """Add the sub-command `import`."""
    parser = actions.add_parser("import", help="import spans from files (JSON lines or OTLP/JSON)")
    set_repository_use(parser, RepositoryUse.SETTINGS)
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="the files; they may be compressed"
    )


def import_spans(options: argparse.Namespace) -> int:
    """Import the spans of all files in batches, and return the exit status."""
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
    with closing(Stores.of_user().open_traces()) as store:
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


def configure_prune(actions: Actions) -> None:
    """Add the sub-command `prune`."""
    parser = actions.add_parser("prune", help="delete old traces, or the oldest above a size limit")
    set_repository_use(parser, RepositoryUse.SETTINGS)
    parser.add_argument(
        "--older-than",
        type=age,
        metavar="AGE",
        help="delete traces older than this, such as 12h, 30d or 4w",
    )
    parser.add_argument(
        "--max-size",
        type=_size,
        metavar="SIZE",
        help="reduce the traces to this size, such as 500MB or 2GB",
    )
    parser.add_argument("--dry-run", action="store_true", help="report what would be deleted")


def prune_traces(options: argparse.Namespace) -> int:
    """Delete the oldest traces until the given limits are met, and return the exit status.

    Without limits in the options, the limits in the settings apply.
    """
    older, most = options.older_than, options.max_size
    if older is None and most is None:
        older, most = _configured_limits(options)
    before = None if older is None else time.time_ns() // 1_000 - older
    with closing(Stores.of_user().open_traces()) as store:
        gone = store.prune(before_us=before, max_bytes=most, dry_run=options.dry_run)
        left = store.summary().sums.totals.spans
    if gone.spans and not options.dry_run:
        record(Action.DELETION, f"traces prune: {gone.spans:,} spans of {gone.traces:,} traces")
    if options.json:
        print_json({**to_json(gone), "left": left, "dry_run": options.dry_run})
        return 0
    done = "would be deleted" if options.dry_run else "deleted"
    room = shown_size(gone.bytes)
    kept = left - gone.spans if options.dry_run else left
    print_text(
        f"{gone.traces:,} traces with {gone.spans:,} spans {done}, about {room}; {kept:,} remain."
    )
    return 0


def _configured_limits(options: argparse.Namespace) -> tuple[int | None, int | None]:
    from treadle.config.loader import load

    settings = load(repository(options), os.environ, {}).settings.traces
    if settings.keep is None and settings.max_size is None:
        raise UsageError(
            "No limit is given or configured.",
            hint="Pass --older-than or --max-size, or set traces.keep or traces.max_size.",
        )
    return (
        None if settings.keep is None else age_us(settings.keep),
        None if settings.max_size is None else size_bytes(settings.max_size),
    )


def _size(text: str) -> int:
    try:
        return size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} {error}") from error


def configure_redact_preview(actions: Actions) -> None:
    """Add the sub-command `redact-preview`."""
    parser = actions.add_parser("redact-preview", help="try a redaction rule on stored spans")
    add_query(parser)
    parser.add_argument(
        "--pattern",
        metavar="RE2",
        help="the regular expression (default: the rules of your settings)",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=1_000,
        metavar="N",
        help="the number of newest spans to search (default: 1000)",
    )


def preview_rules(options: argparse.Namespace) -> int:
    """Print how often each redaction rule matches, with masked examples."""
    from treadle.spans.redaction import preview_redaction
    from treadle.traces.span_stream import whole_spans

    query = typed_query(options)
    rules = _rules(options)
    with closing(Stores.of_user().open_traces()) as store:
        found = list(islice(whole_spans(store, query, newest_first=True), options.limit))
    for name, rule in rules.items():
        result = preview_redaction(rule, found)
        if options.json:
            print_json({"rule": name, **to_json(result)})
            continue
        print_text(
            f"{name}: {result.found:,} matches in {result.changed:,} of {result.spans:,} spans"
        )
        for each in result.examples:
            where = f"{each.trace_id[:8]}/{each.span_id} {each.field}"
            print_text(f"  {where}: " + repr(f"{each.before}[{each.masked}]{each.after}")[1:-1])
    return 0


def _rules(options: argparse.Namespace) -> "dict[str, Rule]":
    from treadle.config.loader import load
    from treadle.secrets import Rule

    if options.pattern is not None:
        try:
            return {"pattern": Rule("pattern", options.pattern)}
        except ValueError as error:
            raise UsageError(f"--pattern: {error}.", hint="Use RE2 syntax.") from error
    settings = load(repository(options), os.environ, {}).settings.traces.redaction
    if not settings.rules:
        raise UsageError(
            "There is no redaction rule to try.",
            hint="Pass --pattern, or set a rule in [traces.redaction.rules.NAME].",
        )
    return {name: Rule(name, rule.pattern) for name, rule in settings.rules.items()}
