"""The preview of a question shows any text literally."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.edits.diffs import unified
from treadle.edits.hunks import rehunk
from treadle.events.types import ApprovalRequested, CallKey
from treadle.ids import new_id
from treadle.tui.approvals.panel import diff_lines, preview
from treadle.visible import printable, with_control_pictures

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["[/]", "[b", "\x1b[31m", "\x00", "\u202e", "- x", "-- a", "++ b", "@@ -1 +1 @@"]
)


@given(TEXT)
def test_any_arguments_are_shown_literally(text: str) -> None:
    question = ApprovalRequested(
        request_id=new_id(), approval_id=new_id(), key=CallKey(0, 0), call_id="c",
        name="tool", summary=text, reason=text, preview=text,
    )  # fmt: skip
    shown = "\n".join(line.plain for line in preview(question))
    assert printable(shown) == shown
    assert len(shown.split("\n")) == (len(text.rstrip("\n").split("\n")) if text.strip("\n") else 1)


@given(TEXT.map(lambda text: text.replace("\n", " ").replace("\r", " ")))
def test_no_changed_line_of_a_diff_is_dropped(text: str) -> None:
    old, new = f"a\n{text}\nc\n".encode(), b"a\nc\n"
    drawn = [line.plain for line in diff_lines(unified(rehunk("f", old, new)))]
    assert drawn[0] == "f"
    assert f"-{with_control_pictures(text)}".expandtabs(4) in drawn
