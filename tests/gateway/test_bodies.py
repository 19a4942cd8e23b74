"""Changes of a forwarded body: the name of the model and the usage option, nothing else."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway.answers import UsageFilter
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import USAGE_OPTION, Body

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", " ", "\n", "\t \r\n"])


@given(
    values=st.dictionaries(st.text(min_size=1), JSON, max_size=5),
    model=st.text(),
    place=st.integers(0, 5),
    spaces=st.lists(SPACES, min_size=4, max_size=4),
    ascii_only=st.booleans(),
)
def test_only_the_name_of_the_model_changes(
    values: dict[str, Any], model: str, place: int, spaces: list[str], ascii_only: bool
) -> None:
    values.pop("model", None)
    fields = list(values.items())
    fields.insert(min(place, len(fields)), ("model", model))
    before, colon, comma, after = spaces

    def text(name: str) -> bytes:
        members = (
            f"{json.dumps(key, ensure_ascii=ascii_only)}{colon}:{colon}"
            f"{json.dumps(name if key == 'model' else value, ensure_ascii=ascii_only)}"
            for key, value in fields
        )
        whole = f"{before}{{{before}{f'{comma},{comma}'.join(members)}{after}}}{after}"
        return whole.encode("utf-8", "surrogatepass")

    try:
        body = Body.read(text(model))
    except RefusalError:
        raise AssertionError("it is valid") from None
    assert body.values == json.loads(text(model))
    assert body.encode(model, ask_for_usage=False) == text(model)
    written = body.encode("other", ask_for_usage=True)
    expected = {**body.values, "model": "other", "stream_options": {"include_usage": True}}
    assert json.loads(written.decode("utf-8", "surrogatepass")) == expected
    if model != "other":
        assert body.encode("other", ask_for_usage=False) == text("other")


def test_invalid_utf8_and_duplicate_names_are_kept() -> None:
    content = b'{"model":"a", "x": "\xff\xfe", "n": 1.50e3, "model": "b"}'
    body = Body.read(content)
    assert body.encode("b", ask_for_usage=False) == content
    written = body.encode("c", ask_for_usage=False)
    assert written == b'{"model":"c", "x": "\xff\xfe", "n": 1.50e3, "model": "c"}'


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"nonsense", b'{"model": "m"', b'{"model": "m"} x', b"{1: 2}", b'{"a" "b"}',
     b'{"a": 1,}', b'"text"', b"{" * 100_000, b'{"a": ' + b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_is_not_an_object_is_refused(content: bytes) -> None:
    with pytest.raises(RefusalError) as refused:
        Body.read(content)
    assert refused.value.status == 400
    assert json.loads(refused.value.body())["error"]["code"] == "invalid_json"


TEXT = b'data: {"choices": [{"delta": {"content": "the \\"usage\\" of it"}}], "usage": null}'
BOTH = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"total_tokens": 1}}'
USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 1}}'
OTHER = b'data: {"choices": [], "usage": null}'
LINES = (TEXT, BOTH, OTHER, b": comment", b"event: x", b'data: broken {"usage"', b"data: [DONE]")


@given(
    before=st.lists(st.sampled_from(LINES), max_size=4),
    after=st.lists(st.sampled_from(LINES), max_size=3),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    blank=st.booleans(),
    cuts=st.lists(st.integers(0, 900), max_size=12),
    whole=st.booleans(),
)
def test_only_the_usage_chunk_is_removed(
    before: list[bytes],
    after: list[bytes],
    end: bytes,
    blank: bool,
    cuts: list[int],
    whole: bool,
) -> None:
    between = end * 2 if blank else end
    stream = between.join([*before, USAGE, *after])
    expected = between.join([*before, *after])
    if whole:
        stream += between
        expected += between if before or after else b""
    elif before and not after:
        expected += between  # the end of the line before it stays
    places = sorted({0, *(min(cut, len(stream)) for cut in cuts), len(stream)})
    filtering = UsageFilter()
    shown = b"".join(filtering.feed(stream[a:b]) for a, b in pairwise(places))
    assert shown + filtering.end() == expected


def test_complete_lines_are_forwarded_immediately() -> None:
    filtering = UsageFilter()
    assert filtering.feed(TEXT + b"\n\n") == TEXT + b"\n\n"
    assert filtering.feed(TEXT[:20]) == b""
    assert filtering.feed(TEXT[20:] + b"\n\ndata") == TEXT + b"\n\n"
    assert filtering.end() == b"data"


def test_the_usage_option_is_an_object_member() -> None:
    assert json.loads("{" + USAGE_OPTION[1:] + "}") == {"stream_options": {"include_usage": True}}
