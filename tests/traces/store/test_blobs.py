"""What is kept aside, and only once."""

import base64
import json
import random
from dataclasses import replace
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.store.contract import full_span
from treadle.traces import TraceStore
from treadle.traces.store import blobs
from treadle.traces.store.attachments import SHORTEST, attachments
from treadle.traces.store.results import Blob

RANDOM = random.Random(5)
PNG = b"\x89PNG\r\n\x1a\n" + RANDOM.randbytes(5_000)
ENCODED = base64.b64encode(PNG).decode()


def stored(store: TraceStore) -> tuple[int, int]:
    """How many blobs there are, and how many bytes they hold before compression."""
    with store.reader() as connection:
        found = connection.execute("SELECT count(*), coalesce(sum(size), 0) FROM blobs").fetchone()
    return int(found[0]), int(found[1])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
        {"source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
    ],
)
def test_an_image_of_fifty_requests_is_kept_once(
    store: TraceStore, part: dict[str, object]
) -> None:
    spans = [
        full_span(
            span_id=str(number),
            input=json.dumps([{"role": "user", "content": [part, f"question {number}"]}]),
            attributes={"again": [part]},
        )
        for number in range(50)
    ]
    store.write(spans).result()

    assert stored(store) == (1, len(PNG))
    assert store.blob(blake2b(PNG, digest_size=32).hexdigest()) == Blob("image/png", PNG)
    assert list(store.trace("t").spans) == sorted(spans, key=lambda span: span.span_id)
    with store.reader() as connection:
        for preview, text in connection.execute(
            "SELECT input_preview, input FROM spans JOIN texts ON texts.rowid = spans.id"
        ):
            assert "question" in preview
            assert ENCODED[:50] not in text


def test_blobs_that_do_not_exist_are_none(store: TraceStore) -> None:
    assert store.blob("00" * 32) is None
    assert store.blob("not a hash") is None


def test_a_growing_conversation_is_kept_about_once(store: TraceStore) -> None:
    words = [RANDOM.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(40_000)]
    messages = [
        {"role": ("user", "assistant")[turn % 2], "content": " ".join(words[turn * 500 :][:500])}
        for turn in range(40)
    ]
    spans = [
        replace(
            full_span(span_id=str(turn), input=json.dumps(messages[:turn])),
            attributes={"gen_ai.input.messages": json.dumps(messages[:turn])},
        )
        for turn in range(1, 41)
    ]
    store.write(spans).result()

    whole = len(json.dumps(messages))
    sent = sum(len(span.input or "") for span in spans)
    assert sent > 15 * whole
    assert stored(store)[1] < 1.6 * whole
    assert sorted(store.trace("t").spans, key=lambda span: int(span.span_id)) == spans


def test_the_same_message_is_the_same_blob_at_the_end_and_in_the_middle() -> None:
    large = {"role": "tool", "content": "x " * blobs.CHUNK}
    new_blobs: blobs.NewBlobs = {}
    blobs.split(json.dumps([{"role": "user", "content": "q"}, large]), new_blobs)
    assert len(new_blobs) == 1
    blobs.split(
        json.dumps([{"role": "user", "content": "q"}, large, {"role": "user", "content": "r"}]),
        new_blobs,
    )

    assert len(new_blobs) == 1


texts = st.lists(
    st.sampled_from(
        [
            '{"role"',
            '{"role": "user", ',
            "word " * 2_000,
            "x" * 9_000,
            ENCODED,
            ENCODED[:-1],
            ENCODED[:1_500],
            "data:image/png;base64,",
            "===",
            "], \n",
            "\ud800",
            "é",
            "/" * 3_000,
            "aB3/" * 700,
        ]
    ),
    max_size=9,
).map("".join)


@given(texts)
def test_what_is_cut_is_joined_byte_for_byte(text: str) -> None:
    new_blobs: blobs.NewBlobs = {}
    parts = blobs.split(text, new_blobs)

    if parts is None:
        assert len(text) < blobs.LARGE_VALUE or '{"role"' in text
    else:
        kept = {key.hex(): piece.data for key, piece in new_blobs.items()}
        assert blobs.join(parts, kept) == text


@given(st.binary(min_size=SHORTEST, max_size=5_000), st.text(), st.text())
def test_attachments_are_found_where_they_are(data: bytes, before: str, after: str) -> None:
    encoded = base64.b64encode(RANDOM.randbytes(900) + data).decode()
    found = list(attachments(f"{before} {encoded} {after}"))

    assert [base64.b64encode(one.data).decode() for one in found] == [encoded]
    assert found[0].start == len(before) + 1
