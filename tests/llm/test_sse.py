from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from treadle.llm.reply_stream import Comment, Data, SseReader


def read(*chunks: bytes) -> list[Data | Comment]:
    reader = SseReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.end()


def test_reads_data_comments_and_event_names() -> None:
    stream = b": PROCESSING\n\n:\n\ndata: one\n\nevent: error\ndata: two\ndata:three\nid: 7\n\n"
    assert read(stream) == [
        Comment("PROCESSING"),
        Comment(""),
        Data("one"),
        Data("two\nthree", "error"),
    ]


def test_accepts_every_line_end_and_a_byte_order_mark() -> None:
    assert read("\ufeffdata: ä\r\n\r\ndata: b\r\rdata: c\n\n".encode()) == [
        Data("ä"),
        Data("b"),
        Data("c"),
    ]


def test_returns_the_last_event_without_its_blank_line() -> None:
    assert read(b"data: one\n\ndata: two") == [Data("one"), Data("two")]


def test_skips_empty_data() -> None:
    assert read(b"data:\n\ndata: \n\n") == []


@given(
    st.lists(
        st.sampled_from(["data: ", ":", "event: x", "\n", "\r", "\r\n", "é", "中🦀", "x", " "])
    ).map("".join),
    st.data(),
)
def test_bytes_cut_anywhere_give_the_same_events(text: str, data: st.DataObject) -> None:
    stream = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    borders = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(borders)]
    assert read(*chunks) == read(stream)
    assert read(*(bytes([byte]) for byte in stream)) == read(stream)
