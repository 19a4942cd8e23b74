"""`treadle traces redact-preview`: count what a redaction rule would remove."""

import argparse
import os
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from treadle.app.stores import open_trace_store
from treadle.cli.command import positive, repository
from treadle.cli.output import print_json, print_text
from treadle.cli.trace_queries import Actions, add_query, typed_query
from treadle.errors import UsageError
from treadle.json_values import to_json

if TYPE_CHECKING:
    from treadle.secrets import Rule


def configure(actions: Actions) -> None:
    """Add the sub-command."""
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


def run(options: argparse.Namespace) -> int:
    """Print how often each rule matches, with masked examples."""
    from treadle.spans.redaction import preview_redaction
    from treadle.traces.span_stream import whole_spans

    query = typed_query(options)
    rules = _rules(options)
    with closing(open_trace_store()) as store:
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
