import base64
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.traces.store.search_text import LIMIT, newest_text, search_text

BYTES = random.Random(3).randbytes(6_000)
ENCODED = base64.b64encode(BYTES).decode()
WRAPPED = base64.encodebytes(BYTES).decode()
SMALL = base64.b64encode(BYTES[:70]).decode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ("plain text, as it is", "plain text, as it is"),
        ("caf\\u00e9 \\ud83d\\ude00 once", "café 😀 once"),
        ("C:\\\\users stays", "C:\\\\users stays"),
        ("lone \ud800 and \0 nul", "lone � and   nul"),
        ("a pair \ud83d" + "\ude00", "a pair 😀"),
        ("👩‍💻 שלום", "👩‍💻 שלום"),
        ("[not JSON", "[not JSON"),
        ('"a JSON string"', '"a JSON string"'),
        ('["caf\\u00e9", "\\\\u00e9 was escaped twice"]', "café\n\\u00e9 was escaped twice"),
        ('[{"role": "user", "content": null}]', ""),
        ("[" * 5_000, "[" * 5_000),
    ],
)
def test_text_is_decoded_once(content: str | None, text: str) -> None:
    assert search_text(content) == text


def test_messages_become_what_was_said_called_and_found() -> None:
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": [{"type": "text", "text": "Where is it?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "grep", "arguments": '{"pattern": "caf\\u00e9", "n": 3}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"ok": true, "hits": ["a.py"]}'},
    ]

    assert search_text(json.dumps(messages)).splitlines() == [
        "You help.",
        "Where is it?",
        "grep",
        "pattern: café",
        "n: 3",
        "ok: true",
        "hits",
        "a.py",
    ]


def test_recorded_reply_becomes_its_text_and_calls() -> None:
    call = {"id": "call_1", "name": "grep", "arguments": '{"pattern": "a"}'}

    assert search_text(json.dumps({"text": "It is sunny."})) == "It is sunny."
    assert search_text(json.dumps({"text": None, "tool_calls": [call]})) == "grep\npattern: a"


def test_messages_in_parts_of_other_vocabularies_are_read_as_well() -> None:
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "the question"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": "c", "name": "grep", "arguments": {"pattern": "x"}}
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"found": "y"}}]},
    ]

    assert search_text(json.dumps(messages)).splitlines() == [
        "the question",
        "grep",
        "pattern: x",
        "found: y",
    ]


@pytest.mark.parametrize(
    "content",
    [
        f"data:image/png;base64,{ENCODED}",
        f"data:image/png;base64,{SMALL}",
        ENCODED,
        WRAPPED,
        base64.urlsafe_b64encode(BYTES).decode(),
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{SMALL}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "i/png", "data": SMALL}},
        {"inline_data": {"mime_type": "image/png", "data": SMALL}},
        {"type": "input_audio", "input_audio": {"format": "wav", "data": SMALL}},
        {"type": "blob", "mime_type": "image/png", "content": SMALL},
        {"b64_json": SMALL},
        {"base64": SMALL},
    ],
)
def test_attachments_are_never_in_it(content: object) -> None:
    message = [{"role": "user", "content": ["before", content, "after"]}]
    text = search_text(json.dumps(message))

    assert "before" in text
    assert "after" in text
    for encoded in (ENCODED, SMALL, WRAPPED[:70]):
        assert encoded[:40] not in text
    if isinstance(content, str):
        assert search_text(f"before {content} after").startswith("before")
        assert content[30:60] not in search_text(f"before {content} after")


def test_what_only_looks_like_an_attachment_is_found() -> None:
    ordinary = {"format": "json", "data": "hello world", "type": "file", "content": "some text"}
    text = search_text(json.dumps([ordinary, {"rule": "-" * 2_000, "path": "a/" * 800}]))

    assert "hello world" in text
    assert "some text" in text
    assert "a/" * 800 in text


@pytest.mark.parametrize(
    ("said", "newest"),
    [
        ("u:one", "one"),
        ("s:short u:one a:1 u:two", "two"),
        ("s:short u:find t:found", "find\nfound"),
        ("s:short u:", "short"),
        ("s:short a:one", "short\none"),
    ],
)
def test_a_list_shows_of_a_request_what_is_new_in_it(said: str, newest: str) -> None:
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    messages = [{"role": roles[each[0]], "content": each[2:]} for each in said.split(" ")]
    content = json.dumps(messages)
    assert newest_text(content, search_text(content)) == newest


@pytest.mark.parametrize("content", ["plain", None, '[1, {"role": "user"}]', '{"role": "user"}'])
def test_all_text_of_other_content_is_shown(content: str | None) -> None:
    assert newest_text(content, search_text(content)) == search_text(content)


def test_it_is_bounded_and_quick_whatever_comes() -> None:
    for content in (
        "x" * 5_000_000,
        "word " * 2_000_000,
        json.dumps(["some words"] * 200_000),
        json.dumps({"a": "b" * 3_000_000}),
        "[" * 100_000 + "]" * 100_000,
        "\\u00e9" * 1_000_000,
        "x" * 1_000_000 + "\n",
        ("x" * 500 + ",") * 3_000,
        ("x" * 500 + "\n") * 3_000,
        ("aB3" * 300 + ",\n") * 1_000,
        "data:a/a;base64," * 100_000,
        "data:" + "a/" * 500_000 + ";base64,",
        "data:a/a" + ";a=a" * 300_000 + ";base64,",
    ):
        assert len(search_text(content)) <= LIMIT


@given(st.text(st.characters(exclude_categories=[])), st.integers(0, 3))
def test_any_text_in_any_wrapping_becomes_valid_text(text: str, wrappings: int) -> None:
    for _ in range(wrappings):
        text = json.dumps({"value": text})
    found = search_text(text)

    found.encode()
    assert "\0" not in found
    assert found == search_text(text)
    newest_text(text, found).encode()
