"""Traits of tool results: whether a result is a message of the tool or text that the tool shows.

A tool that reads a file, a page, a log or search results shows texts that others wrote. Errors in
these texts are not errors of the tool.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from treadle.diagnosis.detectors.finding import word_set
from treadle.diagnosis.field_paths import parsed, step


@dataclass(frozen=True, slots=True)
class OutputTraits:
    """Traits of the result of a tool call, which decide how detectors read the result."""

    shows: bool = False
    """The result shows texts that others wrote."""
    shows_file: bool = False
    """The result is the content of a file. Its JSON is not a message of the tool."""
    shows_log: bool = False
    """The result is a log. Its errors are not errors of the tool."""
    repeats: bool = False
    """The result is a transformed input, an answer of an agent or a page of a browser.

    Its lines are not searched for failures.
    """
    quiet: bool = False
    """An empty result is normal."""
    programs: frozenset[str] = frozenset()
    """The programs in a shell command. The set is empty if the call did not run a shell command."""
    complains: frozenset[str] = frozenset()
    """The programs whose name at the beginning of an output line always means an error."""


_READS = word_set(
    "read view open cat grep rg find glob list ls tree fetch browse scrape crawl search "
    "lookup retrieve retrieval recall navigate snapshot extract summarize summary "
    "translate explain review think ask answer agent delegate diff blame show head tail "
    "explore"
)
_SHOWN = word_set(
    "file files doc docs document documents documentation page pages wiki readme log logs "
    "email emails message messages article articles issue issues ticket tickets comment "
    "comments content contents snippet snippets source code transcript history notes note "
    "memory knowledge context url web website thought chunk chunks passage passages ui screen "
    "dom html text"
)
_FILE = word_set("file files source content contents")
_WRITES = word_set(
    "write create delete remove update set send save put post move rename mkdir close click "
    "type press insert append add edit apply patch upload publish commit push notify schedule "
    "start stop kill cancel enable disable clear reset touch copy wait sleep scroll drag "
    "hover fill select store remember assign label tag subscribe unsubscribe register log "
    "track record connect disconnect login logout done finish complete todo plan"
)
_WORKS = word_set(
    "sync merge backup migrate import export build compile restore convert process validate "
    "check scan generate deploy install load lint analyze analyse test train evaluate verify"
)
_REPEATS = word_set("translate ocr transcribe echo think extract speech")
_PAGE = frozenset({"text", "snapshot", "html", "content", "dom"})
_RUNS = word_set(
    "bash shell sh zsh cmd powershell terminal exec execute command run subprocess console "
    "process python code interpreter repl script"
)
_SHELLS = word_set("bash shell sh zsh cmd powershell terminal command console")
_OPENS = frozenset({"read", "view", "cat", "open"})
_FILE_KEY = re.compile(r'"(?:path|file\w*|\w*_path|\w*Path|uri)"\s*:')
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "shell_command", "input")

_SHOWING_PROGRAMS = word_set(
    "cat bat less more head tail sed awk grep egrep fgrep zgrep rg ag ack find fd ls tree man "
    "help jq yq xxd strings diff comm sort uniq cut column history journalctl dmesg echo "
    "printf type get-content gc dir select-string zcat curl wget http lynx w3m tldr"
)
_SHOWING_PARTS = frozenset(
    (program, part)
    for program, parts in {
        "git": "log show diff blame grep cat-file reflog shortlog whatchanged",
        "docker": "logs",
        "kubectl": "logs",
        "podman": "logs",
        "oc": "logs",
        "heroku": "logs",
        "docker-compose": "logs",
        "gh": "view list diff api",
        "aws": "logs",
        "gcloud": "logging",
    }.items()
    for part in parts.split()
)
_NEUTRAL = word_set("cd export set source . pushd popd sudo time env true mkdir sleep")
_QUIET_PROGRAMS = _NEUTRAL | word_set(
    "touch cp mv rm rmdir ln chmod chown git npm pip test [ diff cmp kill make tee ruff mypy "
    "black tsc eslint gofmt cargo go python python3 node bash sh sed perl printf echo tar "
    "unzip patch docker kubectl terraform systemctl service apt apt-get brew sqlite3 psql "
    "crontab export prettier flake8 pylint pre-commit unset alias wait exit dd install "
    "truncate"
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STATEMENTS = re.compile(r"&&|\|\||[;\n]")
_LOG_FILE = re.compile(
    r"\.(?:log|out|err|trace|jsonl)\b|\blogs?[/\\\"_ -]|[/\\_-]logs?\b|\bcrash|\bstderr\b"
    r"|\bstdout\b",
    re.IGNORECASE,
)
_TERSE_PROGRAMS = word_set(
    "cat head tail sed awk grep egrep rg find fd ls sort uniq cut diff cmp cp mv rm rmdir "
    "mkdir ln chmod chown touch tar unzip zip gzip gunzip kill date ssh scp rsync curl wget "
    "tee xargs jq wc dd du df stat file tr paste comm split sudo bash sh zsh dash cd source merge "
    "patch"
)
"""Programs whose name at the beginning of an output line always means an error."""
_COMPLETE = frozenset({"cd", "export", "source", ".", "mkdir", "set", "pushd", "sleep"})
"""Programs whose arguments are not another program."""
_CUT_COMMAND = re.compile(r'\s*\{\s*"(?:command|cmd|script)"\s*:\s*"((?:[^"\\]|\\.)*+)')
_REDIRECTED = re.compile(r"(?<![\d&>-])>{1,2}\s*[^&\s]")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_SHELL_PREFIXES = frozenset({"bash", "sh", "/bin/sh", "/bin/bash", "zsh"})
_NAME_CHARACTERS, _ARGUMENT_CHARACTERS = 200, 4_000


def output_traits(tool: str, arguments: str) -> OutputTraits:
    """Return the traits of a result, from the name of the tool and the arguments of the call."""
    return _manner(tool[:_NAME_CHARACTERS], arguments[:_ARGUMENT_CHARACTERS])


@lru_cache(maxsize=1024)
def _manner(tool: str, arguments: str) -> OutputTraits:
    words = {word.lower() for word in _WORDS.findall(tool)}
    command = _command(arguments) if words & _RUNS or not tool else None
    if command is not None and (words & _SHELLS or not words & {"python", "interpreter", "repl"}):
        return _of_command(command)
    if words & _RUNS - {"run"} and not words & (_READS | _SHOWN - {"code"}):
        return OutputTraits(quiet=True)
    writes = bool(words & (_WRITES | _WORKS)) and not words & _READS
    names_file = _FILE_KEY.search(arguments) is not None
    agent = tool.startswith("call_") and not words & {"api", "tool", "function", "service"}
    shows = agent or (bool(words & (_READS | _SHOWN)) and not writes)
    return OutputTraits(
        shows=shows,
        shows_file=shows and (bool(words & _FILE) or (bool(words & _OPENS) and names_file)),
        shows_log=shows and (bool(words & {"log", "logs"}) or bool(_LOG_FILE.search(arguments))),
        repeats=agent or bool(words & _REPEATS) or bool("browser" in words and words & _PAGE),
        quiet=writes,
    )


def _command(arguments: str) -> str | None:
    """Return the command in the arguments of a shell tool, or None if there is none."""
    try:
        value = parsed(arguments)
    except ValueError:
        cut = _CUT_COMMAND.match(arguments)
        return cut[1] if cut else None
    if isinstance(value, dict):
        for key in _COMMAND_KEYS:
            found = value.get(key)
            if isinstance(found, list) and all(isinstance(word, str) for word in found):
                # The list is for example ["bash", "-lc", "the command"], or it contains the words
                # of a command.
                return str(found[-1]) if len(found) == 3 and "c" in found[1] else " ".join(found)
            if isinstance(found, str):
                return found
    return value if isinstance(value, str) else None


def _of_command(command: str) -> OutputTraits:
    programs: set[str] = set()
    showing, quiet = [], []
    for statement in _STATEMENTS.split(command):
        source, *behind = statement.split("|")  # the first program decides the traits
        words = source.split()
        while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in _NEUTRAL):
            programs.add(words[0])
            words = [] if words[0] in _COMPLETE else words[1:]
        if words:
            program = words[0].rsplit("/", 1)[-1].lower()
            programs |= {program, *(part.split()[0] for part in behind if part.strip())}
            showing.append(_shows(program, words[1:]))
            quiet.append(program in _QUIET_PROGRAMS or _REDIRECTED.search(source) is not None)
    shows = bool(showing) and all(showing)
    return OutputTraits(
        shows=shows,
        shows_file=shows and not programs & {"curl", "wget", "http"},
        shows_log=shows and bool(_LOG_FILE.search(command) or programs & {"journalctl", "dmesg"}),
        quiet=all(quiet),
        programs=frozenset(programs) or frozenset({"sh"}),
        complains=frozenset(programs & _TERSE_PROGRAMS) | _SHELL_PREFIXES,
    )


def _shows(program: str, arguments: list[str]) -> bool:
    if program in _SHOWING_PROGRAMS or (arguments and arguments[-1] in {"--help", "-h"}):
        return True
    parts = [word for word in arguments if not word.startswith("-")]
    return any((program, part) in _SHOWING_PARTS for part in parts[:2])


_PRINTED = ("stdout", "stderr", "output")
_SPOKEN = ("stdout", "stderr", "output", "message", "msg", "text", "result", "content", "response")


_GOOD_FLAGS = ("ok", "success", "succeeded", "successful")
_DEEPEST = 2
_FEW = 3
_MAX_ELEMENTS = 100


def output_texts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each message in a tool result.

    A result that is not JSON is one message. In a JSON result, messages are content blocks, and
    values of keys such as `stderr`.
    """
    if text.lstrip()[:1] not in ("{", "["):
        yield "", text
        return
    try:
        value = parsed(text)
    except ValueError:
        yield "", text
        return
    yield from _words(value, "", depth=0)


def _words(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for number, part in enumerate(value[:_MAX_ELEMENTS]):
            # Only content blocks of a list are messages. Other elements are data.
            if isinstance(part, Mapping) and part.get("type") == "text":
                words = part.get("text")
                if isinstance(words, str):
                    yield from _spoken(words, step(step(path, number), "text"), depth)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        good = any(value.get(flag) is True for flag in _GOOD_FLAGS)
        wrapped = [key for key in value if len(value) <= _FEW and isinstance(value[key], Mapping)]
        for key in dict.fromkeys((*(_PRINTED if good else _SPOKEN), *wrapped)):
            inner = value.get(key)
            if isinstance(inner, str):
                yield from _spoken(inner, step(path, key), depth)
            elif isinstance(inner, Mapping | list):
                yield from _words(inner, step(path, key), depth + 1)


def _spoken(words: str, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the text, or the texts inside it if it is JSON."""
    inner: object = None
    if words.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            inner = parsed(words)
    if isinstance(inner, Mapping | list):
        yield from _words(inner, path, depth + 1)
    else:
        yield path, words
