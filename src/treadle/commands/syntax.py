"""Parses the text of a shell command into its simple commands.

The parser accepts a small part of the language of bash. From an accepted text it writes a new text,
`Script.rendered`, in which every literal is quoted. Treadle runs the new text. Therefore bash
cannot understand a command differently from this parser.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_CHARACTERS = 20_000
"""The maximum length of a command that is parsed."""

_MAX_DEPTH = 40

_GLOB = frozenset("*?[")
_LITERAL_IN_QUOTES = re.compile(
    r'(?:[^$`"\\]|\\[$`"\\]|\\(?![$`"\\])|\$(?=[\s|)/"]|$))*', re.DOTALL
)
"""Text between double quotes that bash does not expand."""

_ESCAPE_IN_QUOTES = re.compile(r'\\([$`"\\])')
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")

_UNSUPPORTED = {
    "command_substitution": "runs a command to build a word",
    "process_substitution": "runs a command in place of a file",
    "simple_expansion": "contains a variable, whose value is unknown",
    "expansion": "contains a variable, whose value is unknown",
    "arithmetic_expansion": "contains arithmetic",
    "ansi_c_string": "contains a $'…' string",
    "translated_string": 'contains a $"…" string',
    "brace_expression": "contains a brace expansion",
    "heredoc_redirect": "contains a here-document",
    "function_definition": "defines a function",
    "declaration_command": "changes variables of the shell",
    "unset_command": "changes variables of the shell",
    "variable_assignment": "sets a variable of the shell",
    "variable_assignments": "sets variables of the shell",
    "test_command": "contains a test in brackets",
    "extglob_pattern": "contains an extended pattern",
}


class NotUnderstoodError(Exception):
    """Raised for a command that contains something outside the accepted part of the language.

    `part` is the text of that thing. `mentioned` has the words of all simple commands that were
    found anyway. There may be others.
    """

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part!r} {reason}")
        self.part = part
        self.reason = reason
        self.mentioned: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    `text` is the word without its quotes. `rendered` is the word as bash reads it. If `is_pattern`,
    bash replaces the word by the names of the matching files.
    """

    text: str
    rendered: str
    is_pattern: bool = False


@dataclass(frozen=True, slots=True)
class Redirection:
    """A file that a command reads or writes instead of its input or output."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        return self.operator != "<"


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments. `assignments` are the variables that are set for it."""

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    redirections: tuple[Redirection, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The words without quotes."""
        return tuple(word.text for word in self.words)

    def __str__(self) -> str:
        return " ".join((*self.assignments, *(shlex.quote(word.text) for word in self.words)))


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed command: its simple commands in their order, and the text that bash gets."""

    commands: tuple[SimpleCommand, ...]
    rendered: str


def parse(text: str) -> Script:
    """Parse a command. Raises NotUnderstoodError, and ValueError for an empty command."""
    if not text.strip():
        raise ValueError("the command is empty")
    if len(text) > MAX_CHARACTERS:
        raise NotUnderstoodError(f"{text[:40]}…", f"is longer than {MAX_CHARACTERS:,} characters")
    root = _parser().parse(text.encode("utf-8", "surrogatepass")).root_node
    try:
        _refuse_unusual_characters(text)
        return _script(text, root)
    except NotUnderstoodError as error:
        error.mentioned = tuple(_mentioned(root))
        raise


def _script(text: str, root: "Node") -> Script:
    if root.has_error:
        raise NotUnderstoodError(text.strip(), "has a syntax that Treadle cannot parse")
    whole = text.encode("utf-8", "surrogatepass")
    _refuse_text(whole[: root.start_byte])
    _refuse_text(whole[root.end_byte :])
    reading = _Reading()
    rendered = reading.statements(root, 0)
    if not reading.commands:
        raise NotUnderstoodError(text.strip(), "contains no command")
    return Script(tuple(reading.commands), rendered)


@cache
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _refuse_unusual_characters(text: str) -> None:
    """Refuse characters that programs and people may read differently."""
    for character in text:
        if character in "\n\t" or character.isprintable():
            continue
        raise NotUnderstoodError(
            character.encode("unicode_escape").decode(),
            "is a control character or an invisible character",
        )
    if "\\\n" in text:
        raise NotUnderstoodError("\\", "continues a line")


@dataclass(slots=True)
class _Reading:
    """Collects the simple commands while it renders the text."""

    commands: list[SimpleCommand] = field(default_factory=list)

    def statements(self, node: "Node", depth: int) -> str:
        """Render the statements of a program, a group or a subshell."""
        if depth > _MAX_DEPTH:
            raise NotUnderstoodError(_text(node)[:40], "is nested too deeply")
        _check_gaps(node)
        rendered = ""
        ended = True
        for child in node.children:
            if child.type in ("comment", "(", ")", "{", "}"):
                continue
            if child.type in (";", "\n", "&"):
                if ended:
                    raise NotUnderstoodError(_text(node), "ends a command that is missing")
                rendered += " &\n" if child.type == "&" else "\n"
                ended = True
                continue
            if not ended:
                rendered += "\n"
            rendered += self.statement(child, (), depth)
            ended = False
        return rendered.removesuffix("\n")

    def statement(self, node: "Node", redirects: tuple["Node", ...], depth: int) -> str:
        """Render a statement. `redirects` apply to its last simple command."""
        if depth > _MAX_DEPTH:
            raise NotUnderstoodError(_text(node)[:40], "is nested too deeply")
        if node.type != "command":
            _check_gaps(node)
        match node.type:
            case "command":
                return self._command(node, redirects)
            case "redirected_statement":
                return self._redirected(node, redirects, depth)
            case "list" | "pipeline":
                *before, last = node.children
                parts = [
                    self.statement(each, (), depth + 1) if each.is_named else _operator(each)
                    for each in before
                ]
                return " ".join([*parts, self.statement(last, redirects, depth + 1)])
            case "negated_command" if len(node.children) == 2:
                return f"! {self.statement(node.children[1], redirects, depth + 1)}"
            case "subshell" | "compound_statement":
                return self._group(node, redirects, depth)
            case _:
                raise _unsupported(node)

    def _redirected(self, node: "Node", redirects: tuple["Node", ...], depth: int) -> str:
        own = tuple(node.children_by_field_name("redirect"))
        body = node.child_by_field_name("body")
        if body is None:
            raise NotUnderstoodError(_text(node), "has a redirection without a command")
        if len(own) + 1 != len(node.children):
            raise NotUnderstoodError(_text(node), "has redirections that are not understood")
        return self.statement(body, own + redirects, depth + 1)

    def _group(self, node: "Node", redirects: tuple["Node", ...], depth: int) -> str:
        opening, closing = ("(", ")") if node.type == "subshell" else ("{", "}")
        if _text(node)[:1] != opening or _text(node)[-1:] != closing:
            raise NotUnderstoodError(_text(node), "is not understood")
        before = len(self.commands)
        inner = self.statements(node, depth + 1)
        if len(self.commands) == before:
            raise NotUnderstoodError(_text(node), "contains no command")
        found, rendered = _redirections(redirects)
        last = self.commands[-1]
        self.commands[-1] = replace(last, redirections=last.redirections + found)
        return " ".join([f"{opening} {inner}\n{closing}", *rendered])

    def _command(self, node: "Node", redirects: tuple["Node", ...]) -> str:
        words: list[Word] = []
        assignments: list[str] = []
        own: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(_assignment(child))
            elif child.type in ("file_redirect", "herestring_redirect"):
                own.append(child)
            elif child.type == "command_name":
                words.append(_program(child))
            else:
                words.append(_word(child))
        if not words:
            raise NotUnderstoodError(_text(node), "contains no program")
        if words[0].is_pattern:
            raise NotUnderstoodError(words[0].text, "is a pattern in place of a program")
        is_timed = words[0].text == "time" and len(words) > 1 and words[1].text[:1] != "-"
        if is_timed and "=" in words[1].text:
            raise NotUnderstoodError(_text(node), "sets a variable of the shell")
        words[int(is_timed)] = _as_program(words[int(is_timed)])  # `time` is a word of bash
        found, rendered = _redirections((*own, *redirects))
        self.commands.append(SimpleCommand(tuple(words), tuple(assignments), found))
        return " ".join((*assignments, *(word.rendered for word in words), *rendered))


_RESERVED = frozenset(
    (
        "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do",
        "done", "in", "function", "time", "coproc",
    )
)  # fmt: skip


def _program(node: "Node") -> Word:
    """Return the word that names a program. A word such as `then` without quotes names none."""
    (only,) = node.children if len(node.children) == 1 else (node,)
    if _text(only) in (_RESERVED - {"time"}) | {"{", "}", "[[", "]]", "!"}:
        raise NotUnderstoodError(_text(only), "is a word of the shell in a place of a program")
    return _word(only)


def _as_program(word: Word) -> Word:
    """Return the first word of a command, quoted if bash would not take it for a program."""
    if word.text in _RESERVED or "=" in word.text or not word.text:
        return Word(word.text, "'" + word.text.replace("'", "'\"'\"'") + "'")
    return word


_OPERATORS = frozenset({"&&", "||", "|", "|&"})


def _operator(node: "Node") -> str:
    if node.type not in _OPERATORS:
        raise NotUnderstoodError(_text(node), "is not understood here")
    return node.type


_FILE_OPERATORS = frozenset({">", ">>", ">|", "<", "&>", "&>>"})
_NOT_A_FILE = frozenset({"/dev/null"})


def _redirections(nodes: Iterable["Node"]) -> tuple[tuple[Redirection, ...], list[str]]:
    """Return the files of redirections, and the text of each redirection."""
    read = [_redirection(node) for node in nodes]
    found = tuple(each for each, _ in read if each is not None)
    return found, [rendered for _, rendered in read]


def _redirection(node: "Node") -> tuple[Redirection | None, str]:
    """Return the file of a redirection, or None if it has none, and the text that bash gets."""
    _check_gaps(node)
    if node.type == "herestring_redirect":
        word = _word(node.children[-1])
        if len(node.children) != 2 or word.is_pattern:
            raise NotUnderstoodError(_text(node), "is not understood")
        return None, f"<<< {shlex.quote(word.text)}"
    if node.type != "file_redirect":
        raise _unsupported(node)
    parts = list(node.children)
    number = _text(parts.pop(0)) if parts[0].type == "file_descriptor" else ""
    operator = parts.pop(0).type
    if number and not number.isdecimal():
        raise NotUnderstoodError(_text(node), "chooses a file descriptor by a variable")
    if operator in (">&-", "<&-") and not parts:
        return None, f"{number}{operator}"
    if len(parts) != 1:
        raise NotUnderstoodError(_text(node), "is not understood")
    word = _word(parts[0])
    if operator in (">&", "<&") and word.text.isascii() and word.text.isdecimal():
        return None, f"{number}{operator}{word.text}"
    if operator not in _FILE_OPERATORS or word.is_pattern:
        raise NotUnderstoodError(_text(node), "is not understood")
    is_file = word.text not in _NOT_A_FILE
    return (Redirection(operator, word) if is_file else None), f"{number}{operator} {word.rendered}"


def _assignment(node: "Node") -> str:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    if (
        name is None
        or name.type != "variable_name"
        or "+=" in [each.type for each in node.children]
    ):
        raise NotUnderstoodError(_text(node), "is not understood")
    if value is None:
        return f"{_text(name)}="
    return f"{_text(name)}={shlex.quote(_word(value).text)}"


def _word(node: "Node") -> Word:
    """Return a word. Raises NotUnderstoodError if bash would expand it."""
    parts = list(_parts(node))
    text = "".join(each for each, _ in parts)
    bare = "".join(each for each, quoted in parts if not quoted)
    if any(_BRACES.search(each) for each, quoted in parts if not quoted) or (
        "{" in bare and "," in text and "}" in bare
    ):
        raise NotUnderstoodError(_text(node), "contains a brace expansion")
    if parts and not parts[0][1] and parts[0][0].startswith("~"):
        raise NotUnderstoodError(_text(node), "names a home folder")
    is_pattern = any(character in _GLOB for character in bare)
    if not is_pattern:
        return Word(text, shlex.quote(text))
    rendered = "".join(
        shlex.quote(each) if quoted else _quoted_around_globs(each) for each, quoted in parts
    )
    return Word(text, rendered, is_pattern=True)


def _quoted_around_globs(text: str) -> str:
    return "".join(
        each if each in ("*", "?", "[", "]", "!", "^", "-") else shlex.quote(each)
        for each in re.findall(r"[*?\[\]!^-]|[^*?\[\]!^-]+", text)
    )


def _parts(node: "Node") -> Iterator[tuple[str, bool]]:
    """Yield the parts of a word, and whether each part was quoted."""
    text = _text(node)
    match node.type:
        case "word" | "number" if not node.children:
            yield from _unquoted(text)
        case "raw_string":
            yield text[1:-1], True
        case "string":
            for child in node.named_children:
                if child.type != "string_content":
                    raise _unsupported(child)
            if text.count('"') < 2 or not _LITERAL_IN_QUOTES.fullmatch(text[1:-1]):
                raise NotUnderstoodError(text, "contains an expansion")
            yield _ESCAPE_IN_QUOTES.sub(r"\1", text[1:-1]), True
        case "concatenation":
            at = node.start_byte
            for child in node.children:
                if child.start_byte != at or not child.is_named:
                    raise NotUnderstoodError(text, "is not understood")
                at = child.end_byte
                yield from _parts(child)
        case _:
            raise _unsupported(node)


def _unquoted(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a word outside quotes. A character after a backslash is quoted."""
    at = 0
    for match in re.finditer(r"\\(.?)", text, re.DOTALL):
        if match.start() > at:
            yield _checked(text[at : match.start()]), False
        if not match[1]:
            raise NotUnderstoodError(text, "ends with a backslash")
        yield match[1], True
        at = match.end()
    if at < len(text):
        yield _checked(text[at:]), False


def _checked(text: str) -> str:
    if unusual := re.search(r"[$`\"'()<>|&;\s]", text):
        raise NotUnderstoodError(text, f"contains {unusual[0]!r} outside quotes")
    return text


def _check_gaps(node: "Node") -> None:
    """Refuse a node if it has text that belongs to no child, because the parser skipped it."""
    whole = node.text or b""
    at = node.start_byte
    for child in node.children:
        _refuse_text(whole[at - node.start_byte : child.start_byte - node.start_byte])
        at = child.end_byte
    _refuse_text(whole[at - node.start_byte :])


def _refuse_text(gap: bytes) -> None:
    if gap.strip(b" \t\n"):
        raise NotUnderstoodError(gap.decode("utf-8", "replace"), "is not understood")


def _unsupported(node: "Node") -> NotUnderstoodError:
    return NotUnderstoodError(_text(node), _UNSUPPORTED.get(node.type, "is not understood"))


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "surrogatepass")


def _mentioned(root: "Node") -> Iterator[tuple[str, ...]]:
    """Yield the words of every simple command below `root`.

    A word that bash would expand ends the words of its command.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.children)
        if node.type != "command":
            continue
        words: list[str] = []
        for child in node.children:
            if child.type in ("variable_assignment", "file_redirect", "herestring_redirect"):
                continue
            try:
                words.append(
                    _word(child.children[0] if child.type == "command_name" else child).text
                )
            except NotUnderstoodError:
                break
        if words:
            yield tuple(words)
