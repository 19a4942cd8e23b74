"""The diff view draws each line of a proposal literally, at every width."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.diff.diffs import DiffApp, denied, shown, shown_diff
from treadle.display.diffs import RowKind, changed_words, diff_rows
from treadle.tui.diff.document import DiffDocument, Review
from treadle.tui.diff.layout import Part
from treadle.tui.diff.view import GUTTER
from treadle.visible import with_control_pictures

OLD = b"def add(a, b):\n    total = a + b\n    return total\n" + b"\n".join(
    b"line %d" % n for n in range(40)
)
NEW = OLD.replace(b"a + b", b"a - b").replace(b"line 30\n", b"line 30\nline thirty and a half\n")

HOSTILE = ["[/]", "[b", "\x1b[31mred", "\x00", "\u202etxt", "[link=x]y[/link]", "e\u0301" * 60,
           "\u2764\ufe0f" * 50, "日本" * 50, "\r", "\x85", "\u2028", "\t\tx"]  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.sampled_from(HOSTILE)
LINES = st.lists(TEXT.map(lambda text: text.replace("\n", " ")), max_size=12)


def texts(app: DiffApp) -> list[str]:
    """The drawn texts of all rows of a unified diff, without numbers and marks, each unwrapped."""
    layout = app.view._layout
    assert layout is not None
    before = GUTTER + layout.columns.number * (1 + layout.columns.both_numbers)
    before += layout.columns.both_numbers + 3
    drawn = iter(app.lines())
    rows = []
    for position, entry in enumerate(layout.entries):
        height = layout._first[position + 1] - layout._first[position]
        text = "".join(next(drawn)[before:].rstrip(" ") for _ in range(height))
        rows += [] if entry.part in {Part.FILE, Part.HUNK} else [text]
    return rows


@settings(max_examples=12)  # each example starts an application
@given(LINES, LINES, st.sampled_from([40, 80, 130]))
async def test_any_text_is_shown_literally(old: list[str], new: list[str], columns: int) -> None:
    before, after = ("\n".join(lines).encode() for lines in (old, new))
    if before == after:
        return
    async with shown_diff(shown({"f[b].py": (before, after)}), size=(columns, 24)) as app:
        assert all(cell_len(line) <= columns for line in app.lines())
        app.view.side_by_side = False
        app.view.select(1)
        app.view._arrange()
        drawn = [text.replace(" ", "") for text in texts(app)]
    for line in {each for each in set(new) - set(old) if each.strip() and not each.endswith("\r")}:
        expected = with_control_pictures(line).replace("\t", "").replace(" ", "")
        assert expected in drawn


@pytest.mark.parametrize("columns", [40, 80])
async def test_long_line_is_wrapped_and_complete(columns: int) -> None:
    line = "".join(f"<{n:04}>" for n in range(1_700))
    proposal = shown({"f": (b"a\n", line.encode() + b"\n")})
    async with shown_diff(proposal, size=(columns, 24)) as app:
        assert texts(app) == ["a", line]


async def test_wide_terminal_shows_the_sides_next_to_each_other() -> None:
    async with shown_diff(shown({"calc.py": (OLD, NEW)}), size=(130, 30)) as app:
        assert any("a + b" in line and "a - b" in line for line in app.lines())
        app.view.switch_sides()
        assert not any("a + b" in line and "a - b" in line for line in app.lines())
        assert any("a - b" in line for line in app.lines())


async def test_narrow_terminal_shows_a_unified_diff_with_numbers() -> None:
    async with shown_diff(shown({"calc.py": (OLD, NEW)})) as app:
        lines = [line.rstrip() for line in app.lines()]
    assert lines[0].strip() == "calc.py  changed +2 -1"
    assert lines[1] == "▌ ✓ take  hunk 1 of 2 · line 2"
    assert "▌   2     -     total = a + b" in lines
    assert "▌       2 +     total = a - b" in lines
    assert "       35 + line thirty and a half" in [line.rstrip() for line in lines]


async def test_hunk_that_is_left_out_is_marked() -> None:
    async with shown_diff(denied(shown({"calc.py": (OLD, NEW)}), (0, 1))) as app:
        app.review.toggle(1)
        app.view.restyle()
        heads = [line for line in app.lines() if "hunk" in line]
    assert ["leave out" in heads[0], "denied earlier" in heads[1]] == [True, True]


async def test_scrolling_makes_a_visible_hunk_the_current_one() -> None:
    files = {f"f{n}.py": (OLD, NEW) for n in range(20)}
    async with shown_diff(shown(files)) as app:
        assert app.view.hunk == 1
        app.view.scroll_end(animate=False, force=True, immediate=True)
        assert app.view.hunk > 30
        app.view.select_file(-1)
        first, _ = app.view._layout.hunk_lines(app.view.hunk)  # type: ignore[union-attr]
        assert app.view.scroll_offset.y <= first < app.view.scroll_offset.y + 24


async def test_thousands_of_hunks_render_only_visible_lines() -> None:
    old = b"".join(b"x = %d\n" % n for n in range(20_000))
    new = b"".join(b"x = %d\n" % (n if n % 10 else -1) for n in range(20_000))
    async with shown_diff(shown({"big.py": (old, new)})) as app:
        assert len(app.review.document.hunks) == 2_000
        app.view.select(1_999)
        for y in range(24):
            app.view.render_line(y)
        assert len(app.view._rendering()._lines) <= 3 * 24


def test_line_ends_are_hidden_in_a_file_with_crlf_only() -> None:
    old = OLD.replace(b"\n", b"\r\n")
    document = DiffDocument(shown({"f": (old, old.replace(b"a + b", b"a - b"))}))
    assert [row.new for hunk in document.hunks for row in hunk.rows if row.kind is RowKind.CHANGED]
    assert len(document.hunks) == 1
    assert "␍" not in str(document.hunks)


def test_changed_line_end_is_visible() -> None:
    (hunk,) = DiffDocument(shown({"f": (b"a\r\nb\n", b"a\nb\n")})).hunks
    assert ["a␍", "a"] in [[row.old, row.new] for row in hunk.rows]


@given(LINES, LINES)
def test_rows_have_the_numbers_of_both_files(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    if before == after:
        return
    (file,) = shown({"f": (before.encode(), after.encode())}).files
    for rows in diff_rows(file.hunk_diffs):
        for row in rows:
            for number, text, lines in (
                (row.old_number, row.old, before.split("\n")),
                (row.new_number, row.new, after.split("\n")),
            ):
                if number is not None and row.kind is not RowKind.CONTEXT:
                    original = with_control_pictures(lines[number - 1].removesuffix("\r"))
                    assert text is not None
                    assert text.removesuffix("␍") == original


def test_words_that_changed_are_found() -> None:
    old, new = "return the_total(first, second)", "return the_sum(first, second, third)"
    removed, added = changed_words(old, new)
    assert [old[a:b] for a, b in removed] == ["the_total"]
    assert [new[a:b] for a, b in added] == ["the_sum", ", third"]


@given(TEXT, TEXT)
def test_text_outside_the_changed_words_is_equal(old: str, new: str) -> None:
    removed, added = changed_words(old, new)
    if removed or added:
        assert without(old, removed) == without(new, added)


def without(text: str, spans: list[tuple[int, int]]) -> str:
    kept, position = [], 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])


def test_decision_of_a_file_covers_its_hunks() -> None:
    review = Review(DiffDocument(denied(shown({"a": (OLD, NEW), "b": (OLD, NEW)}), (0, 0))))
    review.toggle_file(0)
    assert (review.taken, review.left_out) == ([3, 4], [2])
    review.toggle_file(0)
    assert (review.taken, review.left_out) == ([2, 3, 4], [])


def test_decisions_stay_when_the_proposal_changes() -> None:
    review = Review(DiffDocument(shown({"a": (OLD, NEW)})))
    review.toggle(2)
    edited = b"import os\n" + NEW
    after = review.carry_over(DiffDocument(shown({"a": (OLD, edited)})))
    assert after.left_out == [3]
