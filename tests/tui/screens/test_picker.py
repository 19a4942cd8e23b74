"""The base of the overlays in which a person chooses from a list."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input

from treadle.errors import StoreError, TreadleError
from treadle.tui.screens.picker import Picker, filtered
from treadle.tui.screens.row_list import Row, RowList, fields
from treadle.tui.text import foreign, foreign_line

SIZES = [(80, 24), (120, 40), (40, 10)]
HOSTILE = [
    "[/]",
    "[b",
    "[@click=quit]x[/]",
    "\x1b[2J",
    "a\x00b",
    "\u202eabc",
    "x" * 10_000,
    "日本語" * 90,
    "",
]


class Names(Picker[str, str]):
    """Chooses a name."""

    TITLE_TEXT: ClassVar[str] = "Names"
    ENTER = "Name"

    def __init__(self, names: Sequence[str], error: TreadleError | None = None) -> None:
        super().__init__()
        self.names = names
        self.error = error
        self.gate = asyncio.Event()
        """Rows are read while it is set."""
        self.gate.set()

    async def find_rows(self, query: str) -> Sequence[Row[str]]:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return filtered((named(str(i), name) for i, name in enumerate(self.names)), query)

    async def preview(self, value: str, columns: int) -> Content:
        return foreign(f"{columns} {value}")

    async def choose_row(self, value: str) -> None:
        if value == "broken":
            raise TreadleError("It is broken.", hint="Choose another.")
        self.finish(value)


def named(key: str, name: str) -> Row[str]:
    return Row(key, name, lambda columns: foreign_line(name, columns=columns), name)


class Window(App[None]):
    """Shows one picker, and keeps its result."""

    def __init__(self, picker: Names) -> None:
        super().__init__()
        self.picker = picker
        self.result: str | None = "nothing yet"

    async def on_mount(self) -> None:
        await self.push_screen(self.picker, self._end)

    def _end(self, result: str | None) -> None:
        self.result = result


def lines(app: App[None]) -> list[str]:
    """The text on the screen."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_row_is_chosen_with_the_keys(size: tuple[int, int]) -> None:
    app = Window(Names(["one", "two", "three"]))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("down", "enter")
        await settled(pilot)
    assert app.result == "two"


async def test_typing_filters_by_all_words() -> None:
    app = Window(Names(["red apple", "green apple", "red brick"]))
    async with app.run_test() as pilot:
        await pilot.press(*"apple", "space", *"red")
        await settled(pilot)
        shown = [row.value for row in app.picker.query_one(RowList).rows]
        await pilot.press("enter")
        await settled(pilot)
    assert (shown, app.result) == (["red apple"], "red apple")


async def test_escape_closes_without_a_result() -> None:
    app = Window(Names(["one"]))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("escape")
        await pilot.pause()
    assert app.result is None


async def test_enter_waits_for_the_rows_of_the_typed_filter() -> None:
    app = Window(Names(["one", "two"]))
    async with app.run_test() as pilot:
        await settled(pilot)
        field = app.picker.query_one(Input)
        field.value = "two"
        await field.action_submit()
        await settled(pilot)
    assert app.result == "two"


async def test_an_action_waits_for_the_first_rows() -> None:
    picker = Names(["one", "two"])
    picker.gate.clear()
    async with Window(picker).run_test() as pilot:
        acting = asyncio.create_task(picker.settled())
        await pilot.pause()
        assert not acting.done()
        picker.gate.set()
        assert await acting == "one"


async def test_an_action_waits_for_the_rows_of_the_typed_filter() -> None:
    picker = Names(["one", "two"])
    async with Window(picker).run_test() as pilot:
        await settled(pilot)
        picker.gate.clear()
        await pilot.press("w")
        acting = asyncio.create_task(picker.settled())
        await pilot.pause()
        picker.gate.set()
        assert await acting == "two"


async def test_an_action_does_not_reach_a_row_that_was_not_seen() -> None:
    picker = Names(["one", "two"])
    async with Window(picker).run_test() as pilot:
        await settled(pilot)
        picker.gate.clear()
        picker.highlight("1")
        picker.names = ["one"]
        picker.reload()
        acting = asyncio.create_task(picker.settled())
        await pilot.pause()
        picker.gate.set()
        assert await acting is None
        assert await picker.settled() == "one"


async def test_rows_that_arrive_while_the_picker_closes_are_not_shown() -> None:
    """The rows arrive when the parts of the picker are removed, and the picker still exists."""
    picker = Names(["one"])
    picker.gate.clear()
    app = Window(picker)
    async with app.run_test() as pilot:
        await pilot.pause()
        picker.action_close()
        while picker.query("#title"):  # noqa: ASYNC110  (Textual has no event for this moment)
            await asyncio.sleep(0)
        assert picker.is_attached
        picker.gate.set()
        await settled(pilot)
    assert app.result is None


async def test_failed_choice_shows_the_error_with_its_hint_and_stays_open() -> None:
    app = Window(Names(["broken", "one"]))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert "It is broken. Choose another." in "\n".join(lines(app))
        await pilot.press("down", "enter")
        await settled(pilot)
    assert app.result == "one"


async def test_unreadable_rows_show_the_error() -> None:
    app = Window(Names([], StoreError("[b]The file[/] is gone.", hint="Restore it.")))
    async with app.run_test() as pilot:
        await settled(pilot)
        assert "[b]The file[/] is gone. Restore it." in "\n".join(lines(app))


async def test_reload_keeps_the_highlighted_row() -> None:
    app = Window(Names(["a", "b", "c"]))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("end", "ctrl+end")
        app.picker.names = ["z", "b", "c", "d"]
        app.picker.reload()
        await settled(pilot)
        assert app.picker.highlighted == "c"


async def test_only_visible_rows_are_drawn() -> None:
    drawn = []

    def draw(columns: int) -> Content:
        drawn.append(columns)
        return Content("row")

    app = Window(Names([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.picker.query_one(RowList).show_rows([Row(str(i), i, draw) for i in range(100_000)])
        await pilot.pause()
    assert 0 < len(drawn) < 200


@given(st.lists(st.text(), min_size=1, max_size=8))
@settings(max_examples=5, deadline=None)
def test_any_name_is_shown_literally(names: list[str]) -> None:
    async def show() -> list[str]:
        app = Window(Names([*names, *HOSTILE]))
        async with app.run_test(size=(80, 50)) as pilot:
            await settled(pilot)
            return lines(app)

    shown = asyncio.run(show())
    for name in [*names, *HOSTILE]:
        expected = foreign_line(name, columns=100).truncate(60).plain.rstrip()
        assert any(expected in line for line in shown), expected


def test_fields_are_dropped_before_the_name_becomes_unreadable() -> None:
    wide = fields(60, Content("name"), (Content("$1"), 6), (Content("2026-01-01"), 10))
    narrow = fields(34, Content("name"), (Content("$1"), 6), (Content("2026-01-01"), 10))
    assert wide.plain == f"name{' ' * 42}$1  2026-01-01"
    assert narrow.plain == f"name{' ' * 28}$1"


def test_headings_without_rows_are_left_out() -> None:
    def row(key: str, value: str | None) -> Row[str]:
        return Row(key, value, lambda _: Content(key), key)

    rows = [row("A", None), row("apple", "1"), row("B", None), row("brick", "2")]
    assert [each.key for each in filtered(rows, "BRI")] == ["B", "brick"]
    assert [each.key for each in filtered(rows, "x")] == []


async def test_the_list_says_that_it_is_read_and_what_enter_does() -> None:
    picker = Names(["one"])
    picker.gate.clear()
    app = Window(picker)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "Names  reading …" in "\n".join(lines(app))
        assert "Enter name" in lines(app)[-2]
        picker.gate.set()
        await settled(pilot)
        assert "reading" not in "\n".join(lines(app))


async def test_a_list_that_cannot_be_read_is_no_longer_being_read() -> None:
    app = Window(Names([], StoreError("The file is damaged.")))
    async with app.run_test() as pilot:
        await settled(pilot)
        assert "reading" not in "\n".join(lines(app))
