"""Parses the failures of `go test`, with or without `-json`, and of `go build` and `go vet`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from treadle.checks.diagnostics.reader import Findings, Reader, object_in, text_in

_MOST = 1_000
"""The maximum number of running tests whose messages are kept.

A test's messages are needed only if it fails, which is known at its end.
"""

_MAX_LINES = 20

_BUILD = re.compile(
    r"(?:vet: )?(?P<file>[^\s:][^:]*\.go):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.+)"
)
_TOLD = re.compile(r"\s+(?P<file>[^\s:]+\.go):(?P<line>\d+): (?P<message>.*)")
_FAILED = re.compile(r"\s*--- FAIL: (?P<test>\S+) .*")
_PACKAGE = re.compile(r"(?:FAIL|ok|\?)\s+(?P<package>\S+)\s.*")
_PANIC = re.compile(r"(?:panic|fatal error): (?P<message>.+)")
_FRAME = re.compile(r"\t(?P<file>/[^:]+\.go):(?P<line>\d+)(?: .*)?")

_ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}


@dataclass(slots=True)
class _Test:
    """The messages of a test.

    Each has the match of its line, which contains the location, and whether Go marked it as an
    error.
    """

    reported: list[tuple[re.Match[str], bool]] = field(default_factory=list)


class GoReader(Reader):
    """Parses JSON events and plain text.

    The message of a test names a file relative to the folder of the test's package.
    """

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._tests: dict[tuple[str, str], _Test] = {}
        self._test = ""
        self._panic = ""

    def line(self, text: str) -> Sequence[str] | None:
        event = object_in(text)
        if event is None or "Action" not in event:
            self._parse_plain_line(text)
            return None
        action, package, test = (text_in(event, name) for name in ("Action", "Package", "Test"))
        if action in {"output", "build-output"}:
            shown = text_in(event, "Output").rstrip("\n")
            self._parse_test_output(
                shown, package, test, is_error=event.get("OutputType") == "error"
            )
            return (shown,)
        if test and (word := _ENDS.get(action)):
            if "/" not in test:
                self.findings.count(word)
            self._close(package, test, failed=action == "fail")
        return ()

    def end(self) -> None:
        self._close_package("")

    def _parse_plain_line(self, text: str) -> None:
        """Parse a line of `go test` without `-json`.

        Without `-json`, `go test` prints the failed tests of a package before the name of the
        package.
        """
        if "--- FAIL: " in text and (failed := _FAILED.fullmatch(text)):
            self._test = failed["test"]
            if "/" not in self._test:
                self.findings.count("failed")
        elif package := _PACKAGE.fullmatch(text):
            self._close_package(package["package"])
        else:
            self._parse_test_output(text, "", self._test, is_error=False)

    def _close_package(self, package: str) -> None:
        """Assign all stored tests without a package to `package`, and report them as failed."""
        for held, test in [key for key in self._tests if not key[0]]:
            self._tests[package, test] = self._tests.pop((held, test))
            self._close(package, test, failed=True)
        self._test = self._panic = ""

    def _parse_test_output(self, text: str, package: str, test: str, *, is_error: bool) -> None:
        if test and (reported := _TOLD.fullmatch(text)):
            self._hold(package, test, reported, is_error=is_error)
        elif ".go:" in text and (build := _BUILD.fullmatch(text)):
            self.findings.add(
                build["file"], build["line"], build["message"], column=build["column"]
            )
        elif panic := _PANIC.fullmatch(text):
            self._panic = panic["message"]
        elif self._panic and (at := _FRAME.fullmatch(text)) and self.findings.is_ours(at["file"]):
            self.findings.add(at["file"], at["line"], self._panic, code=test or None)
            self._panic = ""

    def _hold(self, package: str, test: str, reported: re.Match[str], *, is_error: bool) -> None:
        if len(self._tests) < _MOST or (package, test) in self._tests:
            held = self._tests.setdefault((package, test), _Test()).reported
            if len(held) < _MAX_LINES:
                held.append((reported, is_error))

    def _close(self, package: str, test: str, *, failed: bool) -> None:
        held = self._tests.pop((package, test), None)
        if held is None or not failed:
            return
        knows = any(is_error for _, is_error in held.reported)  # only Go 1.26 and newer mark errors
        for reported, is_error in held.reported:
            if is_error or not knows:
                file = self._file(package, reported["file"])
                self.findings.add(file, reported["line"], reported["message"], code=test)

    def _file(self, package: str, name: str) -> str:
        """The path of the file `name` in the folder of `package`, or `name` if no such file exists.

        The folder is found by the package's name, which ends with the path of the folder.
        """
        parts = package.split("/")
        for start in range(len(parts) + 1):
            file = "/".join([*parts[start:], name])
            if (self.findings.folder / file).is_file():
                return file
        return name
