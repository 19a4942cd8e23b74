"""For any file and edits: other bytes are kept, and the result equals a naive one."""

import difflib
from collections.abc import Callable
from itertools import pairwise

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from treadle.charsets import charset_of
from treadle.edits.diffs import counts, unified
from treadle.edits.line_differences import differences
from treadle.edits.model import ChangeKind, EditError, FileChange, content_hash, splice
from treadle.edits.patches import parse_patch
from treadle.edits.plan import plan
from treadle.edits.relocation import rehunk, relocate, reverse
from treadle.edits.requests import EditRequest, LineRangeEdit, RangeEdit, ReplaceEdit
from treadle.edits.text import BOM

CONTENT = st.sampled_from(
    [
        b"",
        b"a",
        b"b",
        b"  a",
        b"\tb",
        b"if x:",
        b"}",
        b"caf\xc3\xa9",
        b"x  ",
        b"\xe9t\xe9",
        b"z" * 9,
    ]
)
END = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file with line ends of one kind or mixed, and optionally a byte order mark and a last
    end."""
    contents = draw(st.lists(CONTENT, max_size=12))
    one = draw(END)
    mixed = draw(st.booleans())
    data = b"".join(line + (draw(END) if mixed else one) for line in contents)
    data += draw(st.sampled_from([b"", b"", b"last"]))
    return (BOM if draw(st.booleans()) else b"") + data


texts = st.lists(
    st.sampled_from(["", "a", "b", "  a", "-- x", "++ y", "@@ -1 +1 @@", "é", "c\r", "\\ d"]),
    max_size=9,
).flatmap(lambda lines: st.sampled_from(["\n".join(lines), "".join(f"{x}\n" for x in lines)]))


def reader(data: bytes | None) -> Callable[[str], bytes | None]:
    return lambda path: data if path == "f" else None


def planned(data: bytes | None, *requests: EditRequest) -> FileChange:
    (change,) = plan(requests, reader(data)).changes
    return change


def check_hunks(data: bytes, change: FileChange) -> bytes:
    """Checks what is true for every change; returns the result."""
    result = splice(data, change.hunks)
    assert change.base_hash == content_hash(data)
    assert change.result_hash == content_hash(result)
    for hunk in change.hunks:
        assert hunk.old != hunk.new
        assert data[hunk.start - len(hunk.before) : hunk.start] == hunk.before
        assert data[hunk.end : hunk.end + len(hunk.after)] == hunk.after
        line_break = b"\n" if b"\n" in data else b"\r"
        assert hunk.line == data.count(line_break, 0, hunk.start) + 1
    assert all(one.end <= other.start for one, other in pairwise(change.hunks))
    back = reverse(change)
    assert splice(result, back.hunks) == data
    for hunk in back.hunks:
        assert result[hunk.start - len(hunk.before) : hunk.start] == hunk.before
        assert result[hunk.end : hunk.end + len(hunk.after)] == hunk.after
    again = reverse(back)
    assert splice(data, again.hunks) == result
    assert [(h.start, h.line) for h in again.hunks] == [(h.start, h.line) for h in change.hunks]
    added, removed = counts(change)
    assert added + removed > 0
    assert unified(change)
    return result


@given(files(), st.data())
def test_a_range_of_bytes_changes_only_that_range(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    code = draw.draw(st.sampled_from(["", "n", "n\n", "\nn", "é\nü\n"]))
    try:
        change = planned(data, RangeEdit("f", start, end, code))
    except EditError:
        return
    result = check_hunks(data, change)
    floor = 3 if data.startswith(BOM) else 0
    start, end = max(start, floor), max(end, floor)
    assert result.startswith(data[:start])
    assert result.endswith(data[end:])
    written = result[start : len(result) - len(data) + end]
    expected = charset_of("f", data).encode(code)
    assert written.replace(b"\r\n", b"\n").replace(b"\r", b"\n") == expected


@given(files(), st.data())
def test_a_range_of_lines_changes_only_these_lines(data: bytes, draw: st.DataObject) -> None:
    floor = 3 if data.startswith(BOM) else 0
    line_break = b"\n" if b"\n" in data or b"\r" not in data else b"\r"
    lines = [line + line_break for line in data[floor:].split(line_break)]
    lines[-1] = lines[-1][:-1]
    lines = lines if lines[-1] else lines[:-1]
    first = draw.draw(st.integers(1, len(lines) + 1))
    last = draw.draw(st.integers(first - 1, len(lines)))
    try:
        change = planned(data, LineRangeEdit("f", first, last, "new 1\nnew 2"))
    except EditError:
        assert any(b"\xe9" in line for line in lines[first - 1 : last])
        return
    result = check_hunks(data, change)
    assert result.startswith(data[:floor] + b"".join(lines[: first - 1]))
    assert result.endswith(b"".join(lines[last:]))
    assert result.count(b"new ") == 2
    assert result.endswith((b"\n", b"\r")) or not data.endswith(line_break)


def _cuts_a_line_end(data: bytes, at: int, raw: bytes) -> bool:
    end = at + len(raw)
    return b"\r\n" in {data[at - 1 : at + 1], data[end - 1 : end + 1]}


@given(files(), st.data())
def test_unique_text_is_replaced_at_its_position(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, max(0, len(data) - 1)))
    end = draw.draw(st.integers(start + 1, start + 20))
    try:
        old = data[start:end].decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        assume(False)
        return
    assume(old.strip("\r\n"))
    raw = old.encode()
    floor = 3 if data.startswith(BOM) else 0
    at = data.find(raw, floor)
    assume(at >= 0)
    assume(not _cuts_a_line_end(data, at, raw))
    plain = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    within = data if b"\r" in raw else plain
    second = within.find(raw, within.find(raw, floor) + 1)
    while second >= 0 and within is data and _cuts_a_line_end(data, second, raw):
        second = within.find(raw, second + 1)  # half of a line end is not the intended text
    once = second < 0
    try:
        change = planned(data, ReplaceEdit("f", old, f"<{old}>"))
    except EditError as error:
        mixed = not old.isascii() and "only ASCII can be written" in error.message
        assert mixed or not once
        return
    assert once
    result = check_hunks(data, change)
    assert result == data[:at] + b"<" + raw + b">" + data[at + len(raw) :]


@given(files(), st.data())
def test_several_edits_match_the_original_text(data: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), min_size=4, max_size=6)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [RangeEdit("f", start, end, f"<{n}>") for n, (start, end) in enumerate(spans)]
    floor = 3 if data.startswith(BOM) else 0
    assume(all(start > floor for start, _ in spans))
    order = draw.draw(st.permutations(edits))
    try:
        change = planned(data, *order)
    except EditError:
        return
    result = check_hunks(data, change)
    assume(len({start for start, _ in spans}) == len(spans))
    expected, position = b"", 0
    for number, (start, end) in enumerate(spans):
        expected += data[position:start] + f"<{number}>".encode()
        position = end
    assert result == expected + data[position:]


def git_diff(old: str, new: str) -> str:
    """A diff as git writes it: lines end with LF alone, a missing last end is marked."""
    before, after = (
        [f"{line}\n" for line in text.split("\n")] if text else [] for text in (old, new)
    )
    sides: list[list[str]] = []
    for text, lines in ((old, before), (new, after)):
        if text.endswith("\n"):
            lines.pop()
        elif lines:
            lines[-1] += "\\ No newline at end of file\n"
        sides.append(lines)
    names = "a/f" if old else "/dev/null", "b/f" if new else "/dev/null"
    return "".join(difflib.unified_diff(sides[0], sides[1], *names))


@given(texts, texts)
@example("a\nb", "a\nb\n")
@example("a\n-- x\n", "a\n++ y\n")
def test_a_git_diff_produces_the_second_text_exactly(old: str, new: str) -> None:
    assume(old != new)
    diff = git_diff(old, new)
    requests = parse_patch(diff)
    try:
        (change,) = plan(requests, reader(old.encode() if old else None)).changes
    except EditError as error:
        refused = str(error)
    else:
        refused = ""
        after = b"" if change.kind is ChangeKind.DELETE else splice(old.encode(), change.hunks)
        assert after == new.encode()
    assert not refused or "times in f" in refused or "without context lines" in refused


@given(files(), files())
def test_a_change_between_two_contents_produces_the_second(base: bytes, result: bytes) -> None:
    change = rehunk("f", base, result)
    assert splice(base, change.hunks) == result
    if base != result:
        check_hunks(base, change)


@given(files(), files(), st.data())
@settings(max_examples=300)
def test_changes_of_a_person_elsewhere_are_kept(
    base: bytes, result: bytes, draw: st.DataObject
) -> None:
    """A relocated change changes no byte of the person's version outside its hunks."""
    change = rehunk("f", base, result)
    at = draw.draw(st.integers(0, len(base)))
    stop = draw.draw(st.integers(at, min(len(base), at + 4)))
    present = base[:at] + draw.draw(st.sampled_from([b"", b"mine\n", b"mine"])) + base[stop:]
    try:
        moved = relocate(change, present)
    except EditError:
        return
    assert [(h.old, h.new) for h in moved.hunks] == [(h.old, h.new) for h in change.hunks]
    if moved.hunks:
        carried = check_hunks(present, moved)
        assert splice(carried, reverse(moved).hunks) == present


@given(st.lists(st.binary(max_size=1), max_size=30), st.lists(st.binary(max_size=1), max_size=30))
def test_differences_produce_the_new_lines(old: list[bytes], new: list[bytes]) -> None:
    applied: list[bytes] = []
    position = 0
    for first, last, begin, end in differences(old, new):
        assert first > position or position == 0
        applied += old[position:first] + new[begin:end]
        position = last
    assert applied + old[position:] == new


def test_many_changes_between_repeated_lines_stay_separate() -> None:
    old = [line for number in range(1_000) for line in (b"%d" % number, b"", b"")]
    new = [b"x" + line if line else line for line in old]
    assert len(differences(old, new)) == 1_000
