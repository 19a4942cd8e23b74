"""Lists the checks of the repository, and runs one with live output and parsed results."""

from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Log, OptionList, Static
from textual.widgets.option_list import Option

from treadle.checks.model import Check, CheckRun, CheckStatus, Diagnostic, Severity
from treadle.display.check_results import location, output_lines, result_lines, summary_line
from treadle.errors import TreadleError
from treadle.tools.approvals.question import Program
from treadle.tui.actions import Action, Where, actions_in
from treadle.tui.key_bindings import bindings
from treadle.tui.prompt.draft import CommandOutput
from treadle.tui.screens.key_line import KeyLine
from treadle.tui.screens.overlay import Overlay
from treadle.tui.screens.picker import LIST_BINDINGS, Picker, choose_action
from treadle.tui.screens.row_list import Row, RowList, fields
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

_SHOWN_LINES = 5_000
"""The number of output lines that are kept for the screen."""
_REFRESH_SECONDS = 0.1
_HANDED_CHARACTERS = 10_000
"""The number of characters of output that the model gets."""
_SEVERITIES = {
    Severity.ERROR: "$text-error",
    Severity.WARNING: "$text-warning",
    Severity.NOTE: "$text-muted",
}
_OUTCOMES = {
    CheckStatus.PASSED: "$text-success",
    CheckStatus.FAILED: "$text-error",
    CheckStatus.TIMED_OUT: "$text-error",
    CheckStatus.ERROR: "$text-error",
}


class ChecksScreen(Picker[Check, CommandOutput]):
    """Lists the checks of the repository.

    Returns a chip for the prompt if the person hands the result of a check to the model.
    """

    TITLE_TEXT = "Checks"
    ENTER = "Run"
    EMPTY = (
        "Treadle found no checks in this repository. Set them in [checks.commands] of the "
        "configuration."
    )
    NO_MATCH = "No check matches."

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._count = 0

    async def find_rows(self, query: str) -> Sequence[Row[Check]]:
        """The checks whose names or commands contain the query."""
        found = await self._workbench.checks()
        words = query.casefold().split()
        shown = [
            each
            for each in found
            if all(word in f"{each.name} {each.command()}".casefold() for word in words)
        ]
        self._count = len(shown)
        return [Row(each.name, each, partial(_check_row, each)) for each in shown]

    def summary(self) -> str:
        """The number of checks."""
        return f"{self._count:,}" if self._count else ""

    async def preview(self, value: Check, columns: int) -> Content:  # noqa: ARG002
        """The command of the check, and the file that defines it."""
        return Content("\n").join(
            [
                foreign(value.command(), "bold"),
                foreign(f"A {value.kind} check, from {value.origin}.", "$text-muted"),
                Content.styled(f"It is stopped after {value.timeout:g} seconds.", "$text-muted"),
            ]
        )

    async def choose_row(self, value: Check) -> None:
        """Run the check."""
        await self.app.push_screen(CheckScreen(self._workbench, value), self._take)

    def _take(self, output: CommandOutput | None) -> None:
        if output is not None:
            self.finish(output)


class CheckScreen(Overlay[CommandOutput | None]):
    """Runs one check.

    Returns a chip for the prompt if the person hands the result to the model.

    The check ends when the screen closes.
    """

    DEFAULT_CSS = """
    CheckScreen {
        background: $background;
        & > Vertical { width: 100%; height: 100%; }
        #title { height: 1; padding: 0 1; background: $panel; text-style: bold; }
        #state { height: auto; max-height: 4; padding: 0 1; }
        Log { height: 1fr; padding: 0 1; background: $background; scrollbar-size: 1 1; }
        Log:focus { background-tint: transparent; }
        RowList { height: 1fr; display: none; background: $background; }
        #result { height: auto; max-height: 6; padding: 0 1; display: none; color: $text-muted; }
        KeyLine { padding: 0 1; }
        &.-results Log { display: none; }
        &.-results RowList, &.-results #result { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(Where.CHECK),
        *LIST_BINDINGS,
        *bindings(Where.OVERLAY, priority=True),
    ]

    def __init__(self, workbench: Workbench, check: Check) -> None:
        super().__init__()
        self._workbench = workbench
        self._check = check
        self.ran: CheckRun | None = None
        """The finished run. None while the check runs."""
        self._lines: deque[str] = deque(maxlen=_SHOWN_LINES)
        self._count = 0
        self._flush_planned = False
        self._results: RowList[Diagnostic] = RowList()

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        with Vertical():
            yield Static(foreign_line(f"{self._check.name}: {self._check.command()}"), id="title")
            yield Static(id="state")
            yield Log(max_lines=_SHOWN_LINES)
            yield self._results
            yield Static(id="result")
            yield KeyLine(self._present_keys())

    def _present_keys(self) -> Sequence[Action]:
        """The actions that have an effect in the present state of the run."""
        found = bool(self._results.rows)
        works = {"rerun_check": True, "hand_to_model": self.ran is not None, "show_output": found}
        shown = [action for action in actions_in(Where.CHECK) if works[action.name]]
        choose = [choose_action("Open")] if self.has_class("-results") else []
        return [*shown, *choose, *actions_in(Where.OVERLAY)]

    def on_mount(self) -> None:
        """Start the check."""
        self.query_one(Log).focus()
        self._run()

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        """Show the whole message of the highlighted result, since its row may be cut."""
        message.stop()
        row = self._results.highlighted
        text = "" if row is None or row.value is None else row.value.message
        self.query_one("#result", Static).update(foreign(text))

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """Open the clicked result."""
        message.stop()
        self.action_choose()

    @work(exclusive=True, group="check")
    async def _run(self) -> None:
        self.ran = None
        self.remove_class("-results")
        self._results.show_rows(())
        self.query_one(Log).clear()
        self._lines.clear()
        self._count = 0
        self._show_state(Content("Starting."))
        try:
            program = await self._workbench.program_to_allow(self._check)
            always = False
            if program is not None:
                answer = await self.app.push_screen_wait(ConsentScreen(self._check, program))
                if answer is None:
                    self._show_state(Content("The check did not run: you did not allow it."))
                    return
                always = answer
            ran = await self._workbench.run_check(
                self._check, self._take_line, allowed=program, always=always
            )
        except TreadleError as error:
            self._show_state(foreign(str(error), "$text-error"))
            return
        self._flush()
        self._finish(ran)

    def _take_line(self, line: str) -> None:
        self._lines.append(line)
        self._count += 1
        if not self._flush_planned:
            self._flush_planned = True
            self.set_timer(_REFRESH_SECONDS, self._flush)

    def _flush(self) -> None:
        """Show the lines that arrived since the last refresh."""
        self._flush_planned = False
        lines = [foreign_line(line).plain for line in self._lines]
        self._lines.clear()
        if lines:
            self.query_one(Log).write_lines(lines)
        if self.ran is None:
            self._show_state(Content(f"Running, {self._count:,} lines of output."))

    def _finish(self, ran: CheckRun) -> None:
        self.ran = ran
        outcome = summary_line(ran).removeprefix(f"{ran.command}: ")  # the title has the command
        state = f"{outcome[:1].upper()}{outcome[1:]}"
        self._show_state(foreign(state, _OUTCOMES[ran.status]))
        found = ran.reading.diagnostics
        self._results.show_rows(
            [Row(str(n), each, partial(_result_row, each)) for n, each in enumerate(found)]
        )
        if found:
            self.action_show_output()

    def _show_state(self, content: Content) -> None:
        self.query_one("#state", Static).update(content)
        self.query_one(KeyLine).show(self._present_keys())

    # The methods that run the actions in `treadle.tui.actions`.

    def action_close(self) -> None:
        """End the check, and close the screen."""
        _ = self.dismiss(None)

    def action_rerun_check(self) -> None:
        """Run the check again. If it still runs, it ends first."""
        self._run()

    def action_hand_to_model(self) -> None:
        """Return the result as a chip for the prompt."""
        if self.ran is None:
            self.app.bell()
            return
        _ = self.dismiss(CommandOutput(self._check.name, _handed_text(self.ran)))

    def action_show_output(self) -> None:
        """Change between the results and the whole output."""
        shows_results = bool(self._results.rows) and not self.has_class("-results")
        self.set_class(shows_results, "-results")
        (self._results if shows_results else self.query_one(Log)).focus()
        self.query_one(KeyLine).show(self._present_keys())

    @work(exclusive=True, group="editor")
    async def action_choose(self) -> None:
        """Open the highlighted result in the editor at its line."""
        row = self._results.highlighted
        if row is None or row.value is None or not self.has_class("-results"):
            return
        from treadle.display.editor import open_at

        try:
            with self.app.suspend():
                path = Path(self._workbench.root) / row.value.file
                await open_at(path, row.value.line or 1)
        except TreadleError as error:
            self._show_state(foreign(str(error), "$text-error"))

    def action_row_up(self) -> None:
        """Highlight the row above."""
        self._results.move(-1)

    def action_row_down(self) -> None:
        """Highlight the row below."""
        self._results.move(1)

    def action_page_up(self) -> None:
        """Go up by one page."""
        self._results.move_page(-1)
        self.query_one(Log).scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        """Go down by one page."""
        self._results.move_page(1)
        self.query_one(Log).scroll_page_down(animate=False)

    def action_first_row(self) -> None:
        """Highlight the first row."""
        self._results.move_to_end(-1)
        self.query_one(Log).scroll_home(animate=False)

    def action_last_row(self) -> None:
        """Highlight the last row."""
        self._results.move_to_end(1)
        self.query_one(Log).scroll_end(animate=False)


class ConsentScreen(Overlay[bool | None]):
    """Asks whether a program inside the repository may run.

    Returns True if it may always run, False if it may run once, and None if it must not run.
    """

    DEFAULT_CSS = """
    ConsentScreen {
        align: center bottom;
        & > Vertical {
            width: 100%; height: auto; padding: 0 1; border: round $warning; background: $surface;
        }
        Static { height: auto; }
        OptionList {
            height: auto; max-height: 40vh; border: none; padding: 0; background: $surface;
        }
        OptionList:focus { border: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(Where.CONSENT),
        *bindings(Where.OVERLAY, priority=True),
    ]

    def __init__(self, check: Check, program: Program) -> None:
        super().__init__()
        self._check = check
        self._program = program

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        command = self._check.command()
        with Vertical():
            yield Static(
                Content("\n").join(
                    [
                        Content.assemble(("? ", "$text-warning bold"), foreign(f"run {command}")),
                        foreign(f"The program is {self._program}.", "$text-muted"),
                    ]
                )
            )
            yield OptionList(
                Option(Content("Run it once.")),
                Option(
                    Content(
                        "Run it, and always run it for this check in this repository, while the "
                        "program is unchanged and until you revoke it."
                    )
                ),
                Option(Content("Do not run it.")),
            )
            yield KeyLine([*actions_in(Where.CONSENT), *actions_in(Where.OVERLAY)])

    def on_mount(self) -> None:
        """Move the focus to the choices."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Return the chosen answer."""
        message.stop()
        _ = self.dismiss((False, True, None)[message.option_index])

    # The methods that run the actions in `treadle.tui.actions`.

    def action_close(self) -> None:
        """Do not run the program."""
        _ = self.dismiss(None)

    def action_run_once(self) -> None:
        """Run the program once."""
        _ = self.dismiss(False)

    def action_run_always(self) -> None:
        """Run the program, and allow it for this check."""
        _ = self.dismiss(True)


def _handed_text(ran: CheckRun) -> str:
    """The result of a check for the model: the parsed results, the output and the outcome."""
    *results, summary = result_lines(ran)
    output = "\n".join(output_lines(ran))[-_HANDED_CHARACTERS:]
    if ran.reading.diagnostics:
        output = "\n".join([*results, "", "The end of the output:", output])
    return f"The check {ran.check.name} reports:\n{output}\n{summary}\n"


def _check_row(check: Check, columns: int) -> Content:
    main = Content.assemble(
        foreign_line(check.name, "bold"), "  ", foreign_line(check.command(), "$text-muted")
    )
    return fields(columns, main, (Content(check.kind), 5), (foreign_line(check.origin), 24))


def _result_row(diagnostic: Diagnostic, columns: int) -> Content:  # noqa: ARG001
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    return Content.assemble(
        (f"{diagnostic.severity.value:<8}", _SEVERITIES[diagnostic.severity]),
        foreign_line(location(diagnostic), "bold"),
        "  ",
        foreign_line(f"{diagnostic.message}{code}"),
    )
