"""Formats the result of a check as lines of text."""

from collections.abc import Iterator

from treadle.checks.model import CheckRun, CheckStatus, Diagnostic
from treadle.toolbox.wording import counted, tallied

SHOWN_DIAGNOSTICS = 50
"""The maximum number of diagnostics in the text of a result."""


def diagnostic_line(diagnostic: Diagnostic) -> str:
    """Format a diagnostic as compilers do: location, severity, message and code."""
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    where = location(diagnostic)
    return f"{where}: {diagnostic.severity.value}: {diagnostic.message}{code}"


def location(diagnostic: Diagnostic) -> str:
    """Format the known ones of the file, line and column of a diagnostic."""
    parts = (diagnostic.file, diagnostic.line, diagnostic.column if diagnostic.line else None)
    return ":".join(str(part) for part in parts if part)


def summary_line(ran: CheckRun) -> str:
    """Format the command of a check with its outcome, its duration and its counts."""
    where = " (in a copy with the proposal applied)" if ran.scratch else ""
    status = ran.status.value.replace("_", " ")
    parts = (
        f"{ran.command}: {status} in {ran.seconds:.1f} s{where}",
        tallied(ran.reading.counts),
        ran.reason,
    )
    return " · ".join(filter(None, parts))


def result_lines(ran: CheckRun) -> Iterator[str]:
    """Yield the diagnostics and a summary.

    If a failed check has no diagnostics, its output replaces them.
    """
    for each in ran.reading.diagnostics[:SHOWN_DIAGNOSTICS]:
        yield diagnostic_line(each)
    if ran.reading.total > SHOWN_DIAGNOSTICS:
        yield f"… {ran.reading.total - SHOWN_DIAGNOSTICS} more"
    if not ran.reading.diagnostics and ran.status is not CheckStatus.PASSED:
        yield from output_lines(ran)
    yield summary_line(ran)


def output_lines(ran: CheckRun) -> Iterator[str]:
    """Yield the kept lines of the output, with a note in place of dropped lines."""
    yield from ran.output.head
    dropped = ran.output.lines - len(ran.output.head) - len(ran.output.tail)
    if dropped > 0:
        yield f"… {counted(dropped, 'line')} not kept"
    yield from ran.output.tail
