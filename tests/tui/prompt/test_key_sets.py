"""The keys of vim and emacs for the prompt."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.terminal import Terminal, running
from treadle.config.model import TerminalSettings
from treadle.tui.key_bindings import KeySet
from treadle.tui.prompt.draft import Draft, PastedText
from treadle.tui.prompt.key_sets import emacs, vim
from treadle.tui.prompt.key_sets.steps import Step

VIM_KEYS = [
    *"hjklwbe0^$gGxXdcyDCSpPuiaIAoOsvV123456789/ qfFtT;,r.\"'([{<B",
    "escape",
    "ctrl+r",
    "left",
    "f5",
]
EMACS_KEYS = [
    "ctrl+a", "ctrl+e", "ctrl+f", "ctrl+b", "ctrl+k", "ctrl+y", "ctrl+w", "ctrl+u", "ctrl+d",
    "ctrl+n", "ctrl+p", "alt+f", "alt+b", "alt+d", "alt+u", "alt+l", "alt+c", "alt+backspace",
    "alt+less_than_sign", "alt+greater_than_sign", "ctrl+underscore", "x",
]  # fmt: skip
TEXTS = st.text("ab_. \n\tß漢", max_size=30) | st.text(max_size=20)


def keys_of(typed: str) -> list[str]:
    """The keys of a sequence such as `dw<ctrl+r>`."""
    keys, rest = [], typed
    while rest:
        if rest[0] == "<" and ">" in rest:
            key, _, rest = rest[1:].partition(">")
            keys.append(key)
        else:
            keys.append(rest[0])
            rest = rest[1:]
    return keys


def edited(text: str, typed: str) -> str:
    """The text after keys of vim, with `|` at the cursor. Vim begins in normal mode."""
    cursor = text.index("|")
    text = text.replace("|", "")
    state = vim.VimState(vim.Mode.NORMAL)
    for key in keys_of(typed):
        state, step = vim.press(state, text, cursor, key)
        if step is None:
            text, cursor = text[:cursor] + key + text[cursor:], cursor + 1
        else:
            text, cursor = after(text, step), step.cursor
    return f"{text[:cursor]}|{text[cursor:]}"


def after(text: str, step: Step) -> str:
    """The text after a step, which must be inside the text."""
    if step.change is not None:
        assert 0 <= step.change.start <= step.change.end <= len(text)
        text = step.change.apply(text)
    assert 0 <= step.cursor <= len(text)
    assert step.anchor is None or 0 <= step.anchor <= len(text)
    return text


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("|one two", "w", "one |two"),
        ("|one two three", "2w", "one two |three"),
        ("one tw|o", "b", "one |two"),
        ("|one two", "e", "on|e two"),
        ("|one two", "2e", "one tw|o"),
        ("|one.two", "w", "one|.two"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one\ntwo", "$", "on|e\ntwo"),
        ("one\ntwo\nthre|e", "gg", "|one\ntwo\nthree"),
        ("|one\ntwo\nthree", "G", "one\ntwo\n|three"),
        ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
        ("o|ne\ntwo\nthree", "2j", "one\ntwo\nt|hree"),
        ("|one", "x", "|ne"),
        ("|one", "2x", "|e"),
        ("on|e", "5x", "o|n"),
        ("|one\ntwo\nthree", "dd", "|two\nthree"),
        ("one\ntw|o", "dd", "|one"),
        ("|one\ntwo\nthree", "2dd", "|three"),
        ("|one", "dd", "|"),
        ("|one two", "dw", "|two"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two three", "d2w", "|three"),
        ("|one two three four", "2d2w", "|"),
        ("one tw|o", "db", "one |o"),
        ("|one two", "de", "| two"),
        ("one |two", "d0", "|two"),
        ("one |two", "d$", "one| "),
        ("one\ntw|o\nthree", "dgg", "|three"),
        ("one\ntw|o\nthree", "dG", "|one"),
        ("one\n|two\nthree", "dk", "|three"),
        ("|one two", "cwnew<escape>", "ne|w two"),
        ("  |one\ntwo", "ccnew<escape>", "ne|w\ntwo"),
        ("one |two", "D", "one| "),
        ("one |two", "Cnew<escape>", "one ne|w"),
        ("|one\ntwo", "yyp", "one\n|one\ntwo"),
        ("|one\ntwo", "yyP", "|one\none\ntwo"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("|one\ntwo", "dd2p", "two\n|one\none"),
        ("|one two", "dwp", "tone| wo"),
        ("|ab", "xp", "b|a"),
        ("|one", "ix<escape>", "|xone"),
        ("|one", "ax<escape>", "o|xne"),
        ("  on|e", "Ix<escape>", "  |xone"),
        ("|one", "Ax<escape>", "one|x"),
        ("|one\ntwo", "ox<escape>", "one\n|x\ntwo"),
        ("one\n|two", "Ox<escape>", "one\n|x\ntwo"),
        ("|one two", "vlly0P", "on|eone two"),
        ("|one two", "ved", "| two"),
        ("on|e", "vhd", "|o"),
        ("|one\ntwo\nthree", "Vjd", "|three"),
        ("one\ntw|o\nthree", "Vkcx<escape>", "|x\nthree"),
        ("|one two", "d<escape>x", "|ne two"),
        ("|one two", "dqx", "|ne two"),
        ("|one", "3<escape>x", "|ne"),
        ("|abc", "vlod", "|c"),
        ("a|bc", "sx<escape>", "a|xc"),
        ("a|bc", "X", "|bc"),
        ("  a|b\nc", "Sx<escape>", "|x\nc"),
        ("one tw|o.three", "diw", "one |.three"),
        ("one tw|o three", "daw", "one |three"),
        ("one tw|o", "daw", "on|e"),
        ("one | two three", "daw", "one| three"),
        ("one| two", "diw", "one|two"),
        ("o|ne two", "ciwnew<escape>", "ne|w two"),
        ("|one two", "viwd", "| two"),
        ("|", "diw", "|"),
        ('a = "o|ne \\" two" b', 'di"', 'a = "|" b'),
        ('a| = "one" b', 'da"', "a = |b"),
        ("say('o|ne', 'two')", "ci'x<escape>", "say('|x', 'two')"),
        ("one |two", 'di"', "one |two"),
        ("f(a, g(b|), c)", "di(", "f(a, g(|), c)"),
        ("f(a, g(b|), c)", "da)", "f(a, g|, c)"),
        ("f(a, g(b|), c)", "d2ib", "f(|)"),
        ("f(a)|, b", "di(", "f(a)|, b"),
        ("x[o|ne]", "yi[P", "x[on|eone]"),
        ("{\n  on|e\n}", "diB", "{\n|}"),
        ("{\n  on|e\n}", "ci{x<escape>", "{\n|x\n}"),
        ("f(on|e, two)", "vi(d", "f(|)"),
        ("|one, two, three", "f,", "one|, two, three"),
        ("|one, two, three", "2f,", "one, two|, three"),
        ("|one, two, three", "dt,", "|, two, three"),
        ("|one, two, three", "df,", "| two, three"),
        ("one, two, thre|e", "F,", "one, two|, three"),
        ("one, two, thre|e", "dT,", "one, two,|e"),
        ("|one, two, three", "f,;", "one, two|, three"),
        ("|one, two, three", "t,;", "one, tw|o, three"),
        ("|one, two, three", "f,;,", "one|, two, three"),
        ("|one, two, three", "f,;;", "one, two|, three"),
        ("|one\ntwo,", "f,", "|one\ntwo,"),
        ("|a1b1c", "f1d;", "a|c"),
        ("|one", "rx", "|xne"),
        ("|one", "2rx", "x|xe"),
        ("on|e", "2rx", "on|e"),
        ("|one", "r2", "|2ne"),
        ("|one\ntwo", "vjrx", "|xxx\nxwo"),
        ("|one\ntwo", "Vrx", "|xxx\ntwo"),
        ("|one two three", "dw.", "|three"),
        ("|one two three four", "dw2.", "|four"),
        ("|one one", "ciwnew<escape>w.", "new ne|w"),
        ("|one\ntwo", "A;<escape>G.", "one;\ntwo|;"),
        ("|abcd", "rx.l.", "x|xcd"),
        ("|abcd", "vld.", "|"),
        ("|abcdef", "x3.", "|ef"),
        ("|ab", ".", "|ab"),
    ],
)
def test_vim_edits_as_vim_does(text: str, typed: str, expected: str) -> None:
    assert edited(text, typed) == expected


@given(TEXTS, st.integers(0, 40), st.lists(st.sampled_from(VIM_KEYS), max_size=25))
def test_no_keys_of_vim_leave_the_text(text: str, cursor: int, keys: list[str]) -> None:
    state = vim.VimState(vim.Mode.NORMAL)
    for key in keys:
        state, step = vim.press(state, text, min(cursor, len(text)), key)
        if step is not None:
            text, cursor = after(text, step)[:2_000], step.cursor


@given(TEXTS, st.integers(0, 40), st.lists(st.sampled_from(EMACS_KEYS), max_size=25))
def test_no_keys_of_emacs_leave_the_text(text: str, cursor: int, keys: list[str]) -> None:
    state = emacs.EmacsState()
    for key in keys:
        state, step = emacs.press(state, text, min(cursor, len(text)), key)
        if step is not None:
            text, cursor = after(text, step)[:2_000], step.cursor


@pytest.mark.parametrize(
    ("text", "keys", "expected"),
    [
        ("one |two", ["ctrl+a"], "|one two"),
        ("|one\ntwo", ["ctrl+e"], "one|\ntwo"),
        ("one |two\nx", ["ctrl+k"], "one |\nx"),
        ("one|\nx", ["ctrl+k"], "one|x"),
        ("one |two", ["ctrl+k", "ctrl+a", "ctrl+y"], "two|one "),
        ("one| two three", ["alt+d", "alt+d", "ctrl+y"], "one two three|"),
        ("one two|", ["ctrl+w", "ctrl+w", "ctrl+y"], "one two|"),
        ("one two|", ["alt+b", "alt+b"], "|one two"),
        ("|one two", ["alt+f"], "one| two"),
        ("one.two|", ["alt+backspace"], "one.|"),
        ("|one", ["ctrl+d"], "|ne"),
        ("|one two", ["alt+u"], "ONE| two"),
    ],
)
def test_emacs_edits_as_readline_does(text: str, keys: list[str], expected: str) -> None:
    cursor, text, state = text.index("|"), text.replace("|", ""), emacs.EmacsState()
    for key in keys:
        state, step = emacs.press(state, text, cursor, key)
        assert step is not None
        text, cursor = after(text, step), step.cursor
    assert f"{text[:cursor]}|{text[cursor:]}" == expected


async def use(terminal: Terminal, key_set: KeySet) -> None:
    """Use the keys of an editor."""
    terminal.app.apply_settings(TerminalSettings(keys=key_set.value))
    await terminal.pilot.pause()


async def test_prompt_shows_the_mode_of_vim_and_undoes_its_changes(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await use(terminal, KeySet.VIM)
        assert "─ insert ─" in terminal.text()
        await terminal.write("one two")
        await terminal.pilot.press("escape", "0", "d")
        assert "─ normal d ─" in terminal.text()
        await terminal.pilot.press("w", "x")
        assert prompt.text == "wo"
        await terminal.pilot.press("u")
        assert prompt.text == "two"
        await terminal.pilot.press("u", "ctrl+r")
        assert prompt.text == "two"
        await terminal.pilot.press("v", "l")
        assert prompt.selection.start != prompt.selection.end


async def test_vim_repeats_a_change_with_what_was_typed(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await use(terminal, KeySet.VIM)
        prompt.load(Draft(("call(one, two)",)))
        await terminal.pilot.press("escape", "0", "f", "left_parenthesis", "l", "c", "i", "w")
        await terminal.write("new")
        await terminal.pilot.press("escape", "w", "w")
        await terminal.write(".")
        assert prompt.text == "call(new, new)"
        await terminal.pilot.press("u")
        assert prompt.text == "call(new, two)"


async def test_vim_deletes_whole_chips(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await use(terminal, KeySet.VIM)
        prompt.load(Draft(("a ", PastedText(1, "x\n" * 50), " b")))
        await terminal.pilot.press("escape", "0", "w", "x")
        assert prompt.draft.message == "a  b"


async def test_history_is_reached_with_the_keys_of_each_set(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        prompt.history_of_messages.add(Draft(("older",)))
        await use(terminal, KeySet.VIM)
        await terminal.pilot.press("escape", "k")
        assert prompt.text == "older"
        prompt.reset()
        prompt.history_of_messages.add(Draft(("newer",)))
        await use(terminal, KeySet.EMACS)
        await terminal.pilot.press("ctrl+p")
        assert prompt.text == "newer"
