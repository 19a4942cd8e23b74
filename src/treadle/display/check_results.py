"""The result of a check as lines of text."""

from collections.abc import Iterator

from treadle.checks.model import CheckRun, CheckStatus, Diagnostic
from treadle.toolbox.wording import counted, tallied

SHOWN_DIAGNOSTICS = 50
"""The maximum number of diagnostics in the text of a result."""


def diagnostic_line(diagnostic: Diagnostic) -> str:
    """A diagnostic in the format of compilers: location, severity, message and code."""
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    where = location(diagnostic)
    return f"{where}: {diagnostic.severity.value}: {diagnostic.message}{code}"


def location(diagnostic: Diagnostic) -> str:
    """The file, line and column of a diagnostic, as far as they are known."""
    parts = (diagnostic.file, diagnostic.line, diagnostic.column if diagnostic.line else None)
    return ":".join(str(part) for part in parts if part)


def summary_line(ran: CheckRun) -> str:
    """The command with its outcome, its time and its counts."""
    where = " (in a copy with the proposal applied)" if ran.scratch else ""
    status = ran.status.value.replace("_", " ")
    parts = (
        f"{ran.command}: {status} in {ran.seconds:.1f} s{where}",
        tallied(ran.reading.counts),
        ran.reason,
    )
    return " · ".join(filter(None, parts))


def result_lines(ran: CheckRun) -> Iterator[str]:
    """The diagnostics, or the output of a failed check without diagnostics, and the outcome."""
    for each in ran.reading.diagnostics[:SHOWN_DIAGNOSTICS]:
        yield diagnostic_line(each)
    if ran.reading.total > SHOWN_DIAGNOSTICS:
        yield f"… {ran.reading.total - SHOWN_DIAGNOSTICS} more"
    if not ran.reading.diagnostics and ran.status is not CheckStatus.PASSED:
        yield from output_lines(ran)
    yield summary_line(ran)


def output_lines(ran: CheckRun) -> Iterator[str]:
    """The kept lines of the output, with a note where lines were dropped."""
    yield from ran.output.head
    dropped = ran.output.lines - len(ran.output.head) - len(ran.output.tail)
    if dropped > 0:
        yield f"… {counted(dropped, 'line')} not kept"
    yield from ran.output.tail
