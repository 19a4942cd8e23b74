"""`treadle traces export`: write complete spans to a file, for an import elsewhere."""

import argparse
import sys
from contextlib import closing
from pathlib import Path

from treadle.app.stores import open_trace_store
from treadle.cli.output import print_json, report
from treadle.cli.trace_queries import Actions, add_query, typed_query


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("export", help="write complete spans as JSON lines")
    add_query(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the output file (default: -, standard output)",
    )
    parser.add_argument(
        "--format",
        choices=("jsonl", "otlp-json"),
        default="jsonl",
        help="jsonl is lossless; otlp-json is for OpenTelemetry tools (default: jsonl)",
    )


def run(options: argparse.Namespace) -> int:
    """Write the spans that match the query, oldest first."""
    from treadle.spans.otlp.writer import write_otlp, write_otlp_lines
    from treadle.spans.span_files import write_span_lines, write_spans
    from treadle.traces.span_stream import whole_spans

    query = typed_query(options)
    to_file, to_stream = (
        (write_spans, write_span_lines)
        if options.format == "jsonl"
        else (write_otlp, write_otlp_lines)
    )
    with closing(open_trace_store()) as store:
        spans = whole_spans(store, query)
        if options.output == "-":
            written = to_stream(sys.stdout.buffer, spans)
            sys.stdout.buffer.flush()
            report(f"{written:,} spans written.")
            return 0
        written = to_file(Path(options.output), spans)
    if options.json:
        print_json({"spans": written, "file": options.output})
    else:
        report(f"Wrote {written:,} spans to {options.output}.")
    return 0
