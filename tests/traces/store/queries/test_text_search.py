from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.runs import span
from treadle.errors import UsageError
from treadle.traces import TraceStore
from treadle.traces.query import Condition, Field, Operator, Query, parse_query
from treadle.traces.store.results import Hit

TEXTS = {
    "snake": "call foo_bar now",
    "spaced": "call foo bar now",
    "percent": "about 50% done",
    "fifty": "about 50 done",
    "plus": "written in C++ today",
    "letter": "written in C today",
    "escape": r"a line\nbreak in it",
    "emoji": "well done 🎉👩‍💻 all",
    "chinese": "我们欢迎你来北京。再见",
    "hebrew": "אמר שלום עולם לכולם",
    "accent": "the Café of André",
    "plain": "the cafe of Andre",
    "camel": "ReadTimeoutError: it took too long",
    "phrase": "the file was not found here",
    "apart": "found it, not here",
    "syntax": 'NEAR(a b) OR "x" AND * ^ {input}:',
    "case": "Straße İstanbul",
}


@pytest.fixture(scope="module")
def store(both_addresses: NewAddress) -> Iterator[TraceStore]:
    opened = TraceStore.open(both_addresses())
    spans = [
        replace(span(name, trace_id=name, start_us=number), name="work", input=text)
        for number, (name, text) in enumerate(TEXTS.items())
    ]
    opened.write(spans).result()
    yield opened
    opened.close()


def found(store: TraceStore, text: str, operator: Operator = Operator.CONTAINS) -> set[str]:
    query = Query((Condition(Field.TEXT, operator, (text,)),))
    return {hit.span.span_id for hit in store.search(query, limit=100).data}


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("foo_bar", {"snake"}),
        ("foo bar", {"spaced"}),
        ("bar", {"snake", "spaced"}),
        ("50%", {"percent"}),
        ("50", {"percent", "fifty"}),
        ("%", {"percent"}),
        ("_", {"snake"}),
        ("C++", {"plus"}),
        ("c", {"plus", "letter"}),
        (r"\n", {"escape"}),
        (r"line\nbreak", {"escape"}),
        ("🎉", {"emoji"}),
        ("👩‍💻", {"emoji"}),
        ("北京", {"chinese"}),
        ("欢迎你来", {"chinese"}),
        ("迎北", set()),
        ("שלום", {"hebrew"}),
        ("cafe", {"accent", "plain"}),
        ("Café", {"accent", "plain"}),
        ("ANDRÉ", {"accent", "plain"}),
        ("ReadTimeoutError", {"camel"}),
        ("readtimeouterror:", {"camel"}),
        ("Timeout", set()),
        ("not found", {"phrase"}),
        ("NOT FOUND", {"phrase"}),
        ("not  found", set()),
        ('"x"', {"syntax"}),
        ("NEAR(", {"syntax"}),
        ("*", {"syntax"}),
        ("{input}:", {"syntax"}),
        ("straße", {"case"}),
        ("nowhere", set()),
    ],
)
def test_a_term_is_found_literally(store: TraceStore, term: str, names: set[str]) -> None:
    assert found(store, term) == names


@pytest.mark.parametrize(
    ("term", "names"),
    [("readtime", {"camel"}), ("fo", {"snake", "spaced", "apart", "phrase"}), ("C+", {"plus"})],
)
def test_the_beginning_of_a_word_is_found(store: TraceStore, term: str, names: set[str]) -> None:
    assert found(store, term, Operator.BEGINS) == names


@settings(max_examples=150)
@given(st.text(max_size=12), st.sampled_from([Operator.CONTAINS, Operator.BEGINS]))
def test_no_text_is_syntax_of_the_index(store: TraceStore, text: str, operator: Operator) -> None:
    assert found(store, text, operator) <= TEXTS.keys()


@settings(max_examples=100)
@given(st.data())
def test_every_word_and_phrase_of_a_text_finds_it(store: TraceStore, data: st.DataObject) -> None:
    name, text = data.draw(st.sampled_from(sorted(TEXTS.items())))
    words = text.split(" ")
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))

    assert name in found(store, " ".join(words[start:end]))


def test_hits_come_newest_first_with_the_place_of_the_match(store: TraceStore) -> None:
    hits = store.search(parse_query("done", now_us=0), limit=10).data

    assert [hit.span.span_id for hit in hits] == ["emoji", "fifty", "percent"]
    assert [matched(hit) for hit in hits] == [["done"]] * 3
    assert hits[2].excerpt == "about 50% done"
    assert {hit.field for hit in hits} == {"input"}


def test_a_long_text_is_cut_around_the_match(both_addresses: NewAddress) -> None:
    text = f"{'before ' * 5_000}the needle {'after ' * 5_000}"
    store = TraceStore.open(both_addresses())
    store.write([replace(span("long"), output=text, input="x", name="y")]).result()
    (hit,) = store.search(parse_query("needle", now_us=0), limit=1).data
    store.close()

    assert hit.field == "output"
    assert len(hit.excerpt) < 300
    assert matched(hit) == ["needle"]


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("no order", "I cannot find it: NO order, no_order", ["NO", "order", "no", "order"]),
        ('"no order"', "Is there no order? No order 18!", ["no order", "No order"]),
        ("zurich", "Zürich and Zu\u0308rich, not Zurichsee", ["Zürich", "Zu\u0308rich"]),
        ("ZÜRICH", "from zurich", ["zurich"]),
        ("time*", "a timeout of its lifetime", ["time"]),
        ('"50%"', "50% of 150%", ["50%"]),
    ],
)
def test_the_marks_of_a_hit_are_the_matches_of_the_query(
    both_addresses: NewAddress, query: str, text: str, marked: list[str]
) -> None:
    store = TraceStore.open(both_addresses())
    store.write([replace(span("a"), output=text, input="", name="y")]).result()
    (hit,) = store.search(parse_query(query, now_us=0), limit=1).data
    store.close()

    assert matched(hit) == marked


def test_search_goes_on_after_its_cursor(store: TraceStore) -> None:
    query = parse_query("done", now_us=0)
    first = store.search(query, limit=2)
    second = store.search(query, limit=2, cursor=first.pagination.next_cursor)

    assert [hit.span.span_id for hit in second.data] == ["percent"]
    assert second.pagination.next_cursor is None


def test_what_is_searched_with_other_conditions_fits_all(store: TraceStore) -> None:
    hits = store.search(parse_query("done -50% trace:fifty,percent", now_us=0), limit=10).data

    assert [hit.span.span_id for hit in hits] == ["fifty"]


def test_a_search_without_text_is_refused(store: TraceStore) -> None:
    with pytest.raises(UsageError, match="The query has no text to search for"):
        store.search(parse_query("status:ok -done", now_us=0))


def matched(hit: Hit) -> list[str]:
    return [hit.excerpt[start:end] for start, end in hit.ranges]
