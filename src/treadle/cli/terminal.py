"""Prints a turn to a terminal: events on standard error, the answer on standard output."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.app.application import App
from treadle.cli.approval_prompts import ApprovalPrompt, LineReader, prompt
from treadle.cli.output import print_line, print_text, report, report_line
from treadle.cli.progress import IndexBar
from treadle.clock import Clock
from treadle.display.event_lines import LATE, RESOLVED, SILENCE, activity, notice, plan_lines
from treadle.display.lines import short_id
from treadle.display.markdown_stream import Block, Kind, MarkdownSplitter
from treadle.display.trace_tree import failure_symbol
from treadle.errors import TreadleError
from treadle.events import Event, Subscription
from treadle.events import types as ev
from treadle.session import SessionOutcome
from treadle.session.sources import QuoteVerdict
from treadle.traces.amounts import cost, tokens
from treadle.traces.amounts import duration as duration_text
from treadle.visible import printable

if TYPE_CHECKING:
    from rich.console import Console

_REPEAT = 15.0
"""Seconds between two printed states if the terminal cannot rewrite a line."""
_ARGUMENTS_SHOWN = 100
_QUOTE_MARKS = {
    QuoteVerdict.EXACT: "✓ matches",
    QuoteVerdict.MOVED: "✓ matches at other bytes than stated,",
    QuoteVerdict.DIFFERENT: "✗ differs from",
    QuoteVerdict.UNREADABLE: "✗ not a readable file:",
}


class Terminal:
    """Prints the events of one request as they arrive. Control characters in them are escaped."""

    def __init__(self, clock: Clock, *, answer_at_once: bool = True) -> None:
        """Create the output. Without `answer_at_once`, it prints only complete answers."""
        self._clock = clock
        self._answer_at_once = answer_at_once
        self._splitter = MarkdownSplitter()
        self._console = _console() if sys.stdout.isatty() else None
        self._rewrites = sys.stderr.isatty()
        self._status_shown = False
        self._state = "starting"
        self._since = clock.monotonic()
        self._last_status = 0.0
        self._line_open = False
        self._approval_prompt: ApprovalPrompt | None = None
        self._asking = False

    @contextmanager
    def answering(self, app: App) -> Iterator[None]:
        """Ask the user for approvals during the turn.

        The method does nothing unless standard input and standard error are terminals.
        """
        if not (sys.stdin.isatty() and self._rewrites):
            yield
            return
        self._approval_prompt = ApprovalPrompt(app.approvals, app.edits, LineReader(), prompt)
        with app.approvals.allow_questions():
            yield

    async def follow(self, events: Subscription) -> None:
        """Print every event until the subscription is closed."""
        watch = asyncio.create_task(self._watch())
        try:
            with IndexBar() as self._bar:
                async for envelope in events:
                    self._show(envelope.event)
                    if isinstance(envelope.event, ev.ApprovalRequested) and self._approval_prompt:
                        await self._ask(self._approval_prompt, envelope.event)
        finally:
            watch.cancel()
            self._clear_status()

    async def _ask(self, approval_prompt: ApprovalPrompt, question: ev.ApprovalRequested) -> None:
        """Ask the user for an approval. Events that arrive meanwhile are printed afterwards."""
        self._end_line()
        self._asking = True
        try:
            await approval_prompt.ask(question)
        finally:
            self._asking = False
            self._set_state(self._state)

    async def _watch(self) -> None:
        """Print the current state while no event arrives."""
        while True:
            await self._clock.sleep(1.0)
            now = self._clock.monotonic()
            silent = now - self._since
            if silent < SILENCE or self._asking:
                continue
            text = f"… {self._state} ({silent:.0f} s)"
            if self._rewrites and not self._line_open:
                sys.stderr.write(f"\r\x1b[K{printable(text)}")
                sys.stderr.flush()
                self._status_shown = True
            elif self._last_status < self._since or now - self._last_status >= _REPEAT:
                self._report(text)
                self._last_status = now

    def _clear_status(self) -> None:
        if self._status_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._status_shown = False

    def _preview(self) -> None:
        """Print the end of the unfinished paragraph in the status line."""
        if self._console is None or not self._rewrites:
            return
        line = printable(self._splitter.unfinished(self._console.width - 2).replace("\n", " "))
        sys.stderr.write(f"\r\x1b[K{line[-(self._console.width - 2) :]}")
        sys.stderr.flush()
        self._status_shown = True

    def _set_state(self, state: str) -> None:
        self._state = state
        self._since = self._clock.monotonic()
        self._clear_status()

    def _show(self, event: Event) -> None:
        match event:
            case ev.IndexProgress(done=done, total=total):
                self._bar(done, total)
            case ev.ModelDelta(reasoning=False) if not self._answer_at_once:
                self._set_state("the model is thinking")
                return
        # The state line already shows how long nothing has arrived.
        if not isinstance(event, ev.ModelWaiting):
            self._clear_status()
            if (state := activity(event)) is not None:  # other events do not end the wait
                self._set_state(state)
        if isinstance(event, ev.ModelDelta) and not event.reasoning:
            self._answer(self._splitter.feed(event.text), raw=event.text)
            self._preview()
        if (line := _line(event)) is not None:
            self._report(line)
        if isinstance(event, ev.PlanChanged):
            for each in plan_lines(event.steps):
                self._report(each)

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None:
        """Print the sources, the quotes and the usage below the answer."""
        if not self._answer_at_once:
            self._end_line()
            self._answer(self._splitter.feed(outcome.text), raw=outcome.text)
        self._end_line()
        if not outcome.text.strip():
            report("The model replied without text.")
        if outcome.sources:
            print_text("\nSources (the code that the model received)")
        for source in outcome.sources:
            lines = f"{source.start_line}-{source.end_line}"
            changed = " (changed since)" if source.stale else ""
            print_line(f"  {source.file}:{lines}  {source.name}".rstrip() + changed)
        if outcome.quotes:
            print_text("\nQuoted (the code in the answer, compared with the files)")
        for quote in outcome.quotes:
            lines = f":{quote.start_line}-{quote.end_line}" if quote.start_line else ""
            print_line(f"  {_QUOTE_MARKS[quote.verdict]} {quote.file}{lines}")
        used = tokens(outcome.usage) or "tokens unknown"
        price = "cost unknown" if outcome.cost is None else cost(outcome.cost)
        calls = f"{outcome.tool_calls} tool call{'s' * (outcome.tool_calls != 1)}"
        parts = (calls, used, price, f"trace {short_id(trace_id)}")
        report(f"\n{' · '.join(parts)}")

    def fail(self, error: TreadleError) -> None:  # noqa: ARG002  (main prints the error itself)
        """End the current line, so that the error starts on a new line."""
        self._end_line()

    def _report(self, text: str) -> None:
        self._end_line()
        report_line(text)

    def _end_line(self) -> None:
        """End the current line of the answer, so that other output starts on a new line."""
        self._clear_status()
        self._answer(self._splitter.finish(), raw="")
        if self._line_open:
            print(flush=True)
            self._line_open = False

    def _answer(self, blocks: list[Block], *, raw: str) -> None:
        if self._console is None:
            if raw:
                print(printable(raw), end="", flush=True)
                self._line_open = not raw.endswith("\n")
            return
        for block in blocks:
            self._print(self._console, block)

    def _print(self, console: "Console", block: Block) -> None:
        from rich.markdown import Markdown
        from rich.text import Text

        text = printable(block.text)
        if block.kind is Kind.PROSE:
            if text.strip():
                console.print(Markdown(text, hyperlinks=False))
                console.print()
        else:
            style = "dim" if block.kind is Kind.FENCE else "cyan"
            console.print(Text(text.rstrip("\n"), style=style), soft_wrap=True)


def _line(event: Event) -> str | None:
    """Format an event as a line. Returns None for an event that is not printed."""
    return _call_line(event) or _model_line(event)


def _call_line(event: Event) -> str | None:
    match event:
        case ev.ToolCallRequested(name=name, arguments=arguments):
            return f"● {name} {_shortened(arguments)}"
        case ev.ToolCallCompleted(ui=view, duration=duration):
            return f"  ✓ {view.summary} ({duration_text(round(duration * 1e6))})"
        case ev.ToolCallFailed(error=failure):
            unsure = " (it may have changed something)" * (failure.effect is ev.Effect.UNKNOWN)
            return f"  {failure_symbol(failure.kind)} {failure.message}{unsure}"
        case ev.ApprovalResolved(scope=scope):
            return f"  {RESOLVED[scope]}"
        case ev.ToolCallLate():
            return f"  ({LATE})"
    return None


def _model_line(event: Event) -> str | None:
    match event:
        case ev.MessageQueued(text=text):
            return f"  (waits: {_shortened(text)})"
        case ev.MessageSteered(text=text):
            return f"  (sent to the model: {_shortened(text)})"
    sentence = notice(event)
    return None if sentence is None else f"! {sentence}"


def _console() -> "Console":
    from rich.console import Console
    from rich.theme import Theme

    # Rich prints inline code on a black background, which looks wrong on a light terminal.
    theme = Theme({"markdown.code": "cyan"})
    return Console(markup=False, highlight=False, emoji=False, theme=theme)


def _shortened(arguments: str) -> str:
    text = " ".join(arguments.split())
    return text if len(text) <= _ARGUMENTS_SHOWN else text[:_ARGUMENTS_SHOWN] + "…"
