"""The entry point of the command line. It loads only the module of the requested command.

It prints an error as one line. The parser is argparse, because importing typer alone takes 200 ms
(docs/decisions). The time goal of a search with a warm index is 60 ms after the start of the
interpreter.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from treadle import __version__
from treadle.cli.command import Command, add_common_options, terminal_width
from treadle.cli.process_end import leave, settle_output
from treadle.errors import ExitStatus, TreadleError, UsageError


class Entry(NamedTuple):
    """An entry of the command overview. `module` is a module of `cli/commands` with a `COMMAND`."""

    module: str
    summary: str


COMMANDS = {
    "chat": Entry("chat", "hold a conversation about a repository in the terminal"),
    "ask": Entry("ask", "ask a question about a repository"),
    "index": Entry("index", "build or refresh the code index"),
    "search": Entry("search", "find code by symbol or by meaning"),
    "context": Entry("context", "print the code that a model receives for a question"),
    "tools": Entry("tools", "list the tools, show their schemas, call one"),
    "edits": Entry("edits", "list, show, apply, deny and undo proposed edits"),
    "commit": Entry("commit", "propose a commit message, and commit after a yes"),
    "review": Entry("review", "state what a change breaks and which tests to run"),
    "checks": Entry("checks", "list and run the checks of a repository"),
    "mcp": Entry("mcp", "serve the tools to an editor or agent over MCP"),
    "serve": Entry("serve", "serve a repository over HTTP to browsers and programs"),
    "worker": Entry("worker", "run tool calls of servers in the repositories of this machine"),
    "traces": Entry("traces", "read, import, export and delete recorded traces"),
    "agent": Entry("agent", "ask what failed, what is slow, what is expensive"),
    "experiment": Entry("experiment", "change a recorded model call, run it again, compare"),
    "sessions": Entry("sessions", "list, show and resume saved conversations"),
    "store": Entry("store", "examine, upgrade, copy, back up and restore the stores"),
    "projects": Entry("projects", "add, list and remove projects of a shared server"),
    "users": Entry("users", "invite, list and remove users of a shared server"),
    "keys": Entry("keys", "create, list and revoke API keys of a shared server"),
    "audit": Entry("audit", "show who signed in, changed keys, deleted or exported data"),
    "models": Entry("models", "list the available models, test one, manage keys"),
    "config": Entry("config", "show the settings and their sources"),
    "doctor": Entry("doctor", "check the installation and report problems"),
}


_TERMINAL = "chat"
"""The command that runs if no command is given."""
_QUICK = frozenset({"chat", "search"})
"""Commands that must start quickly."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help texts for the width of the terminal, without the slow import of `shutil`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=(terminal_width() or 80) - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser that reports invalid arguments as a UsageError."""

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError, which `main` prints as one line."""
        if message.endswith("required: ACTION"):
            actions = next(a.choices for a in self._actions if a.dest.endswith("action"))
            message = f"an action is missing: {', '.join(actions or ())}"
            raise UsageError(f"{self.prog}: {message}", hint=f"See `{self.prog} --help`.")
        raise UsageError(f"{self.prog}: {message}.", hint=f"See `{self.prog} --help`.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    _prepare_streams()
    try:
        status = _run(words)
        sys.stdout.flush()
    except TreadleError as error:
        if debug:
            raise
        return _report(str(error), error.exit_status)
    except KeyboardInterrupt:
        return leave(_report("Cancelled.", ExitStatus.CANCELLED))
    except BrokenPipeError:
        # The reader closed the pipe, as in `treadle search … | head`, so nothing can be printed.
        return ExitStatus.FAILED
    except OSError as error:
        if debug:
            raise
        return _report(_refusal(error), ExitStatus.FAILED)
    except Exception as error:  # users see a traceback only with --debug
        if debug:
            raise
        what = f"Unexpected {type(error).__name__}: {error}."
        return _report(f"{what} Run again with --debug to see where.", ExitStatus.FAILED)
    finally:
        settle_output()
    return status


def _run(words: list[str]) -> int:
    if not words and _opens_terminal():
        words = [_TERMINAL]
    name = next((word for word in words if word in COMMANDS), None)
    name = name or next((word for word in words if not word.startswith("-")), None)
    if name is None or words[0] in {"-h", "--help", "--version"}:
        _overview().parse_args(words)
        _overview().print_help()
        return ExitStatus.DONE
    if words[0] != name and not words[0].startswith("-"):
        name = words[0]
    if words[0] != name:
        meant = name if name in COMMANDS else _TERMINAL
        raise UsageError(
            f"The option {words[0]} comes before the command.",
            hint=f"Put it after the command: `treadle {meant} {words[0]} …`.",
        )
    if name not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean `treadle {near[0]}`?" if near else "See `treadle --help`."
        raise UsageError(f"There is no command {name!r}.", hint=hint)
    module = import_module(f"treadle.cli.commands.{COMMANDS[name].module}")
    command: Command = module.COMMAND
    if "--debug" in words:
        _show_logs()
    else:
        _silence_logs()
    parser = Parser(
        prog=f"treadle {name}",
        description=command.description,
        allow_abbrev=False,
        formatter_class=HelpFormatter,
    )
    command.configure(parser)
    add_common_options(parser)
    options = parser.parse_args(words[1:])
    _warn_of_variables(quick=name in _QUICK)
    return command.run(options)


def _opens_terminal() -> bool:
    """Whether a person is at a terminal, in a folder that can be opened as a repository."""
    from pathlib import Path

    from treadle.paths import find_root, holds_home

    return sys.stdin.isatty() and sys.stdout.isatty() and not holds_home(find_root(Path.cwd()))


def _warn_of_variables(*, quick: bool) -> None:
    """Report environment variables that begin with TREADLE_ but are not settings.

    With `quick`, names with a known first part are accepted without reading the settings, because
    loading the settings takes longer than a search.
    """
    from treadle.config.variables import NOT_SETTINGS, PREFIX, has_known_start

    ours = [name for name in os.environ if name.startswith(PREFIX) and name not in NOT_SETTINGS]
    if ours and not (quick and all(map(has_known_start, ours))):
        from treadle.cli.output import report
        from treadle.config.layers import unknown_variables

        for sentence in unknown_variables(os.environ):
            report(f"warning: {sentence}")


def _show_logs() -> None:
    from treadle.app.logs import show_logs

    show_logs()


def _silence_logs() -> None:
    """Hide log records, which may contain tracebacks. Events report the same errors to the user.

    Commands with an event loop have already imported `logging`. For other commands, this function
    avoids the slow import.
    """
    if (logging := sys.modules.get("logging")) is not None:
        logging.getLogger().addHandler(logging.NullHandler())


def _overview() -> Parser:
    rows = "\n".join(f"  {name:<10} {entry.summary}" for name, entry in COMMANDS.items())
    parser = Parser(
        prog="treadle",
        usage="treadle COMMAND [OPTIONS]",
        description=f"A code-aware LLM assistant with a flight recorder.\n\ncommands:\n{rows}",
        epilog='Try `treadle ask "How does this project start?"` in a repository; `treadle COMMAND '
        "--help` describes a command.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"treadle {__version__}")
    return parser


def _prepare_streams() -> None:
    """Make the standard streams accept and print any text, and replace closed streams."""
    import codecs

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123  (open to the end)
    codecs.register_error("treadle.escape", _escape)
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
        (sys.stdout, "treadle.escape"),
        (sys.stderr, "treadle.escape"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding lacks by JSON escapes. JSON output stays valid."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    escapes = (f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))
    return "".join(escapes), error.end


def _refusal(error: OSError) -> str:
    """Describe a failed system call in a sentence, and state what to do."""
    what = (error.strerror or str(error)).rstrip(".")
    about = f" ({os.fsdecode(error.filename)})" if isinstance(error.filename, str | bytes) else ""
    return (
        f"A system call failed: {what}{about}. Check that the file exists, that you have "
        "permission, and that the disk has space."
    )


def _report(message: str, status: ExitStatus) -> int:
    from treadle.visible import printable

    # The message may contain text of other programs with several lines. It is printed as one line.
    print(printable(" ".join(message.split())), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
