"""The state of the page: saved, changed, shared by processes; and requests to pages."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.clock import HastyClock
from treadle.app.stores import Stores
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events import EventBus
from treadle.events.changes import UiChanged, UiRequested
from treadle.ui import store as store_module
from treadle.ui.addresses import SCREENS, own_address, view_at
from treadle.ui.feed import UiFeed
from treadle.ui.messages import CollapsedSpans, Done, GetCollapsedSpans, NavigateTo
from treadle.ui.service import Reply, Ui
from treadle.ui.state import Change, UiState, View
from treadle.ui.store import CONNECTED_US, UiStore


@pytest.fixture
def store(both_stores: Stores) -> Iterator[UiStore]:
    opened = UiStore(both_stores.ui)
    yield opened
    opened.close()


def test_file_is_created_at_first_use(tmp_path: Path) -> None:
    UiStore(tmp_path / "data" / "ui.db").close()
    assert list(tmp_path.iterdir()) == []


def test_state_survives_a_restart(store: UiStore, both_stores: Stores) -> None:
    assert store.state() == UiState()
    change = Change(
        location="/traces/a?span=b",
        experiment_id="e1",
        label_filters={View.RUNS: ("a", "b"), View.SPANS: ()},
        collapse=("s2", "s1", "s2"),
    )
    shown = store.change(change, by="tab", now_us=1)
    store.close()
    again = UiStore(both_stores.ui)
    assert again.state() == shown
    assert shown == UiState(
        revision=1,
        changed_by="tab",
        location="/traces/a?span=b",
        experiment_id="e1",
        label_filters={View.RUNS: ("a", "b")},
        collapsed_span_ids=("s2", "s1"),
    )
    again.close()
    if isinstance(both_stores.ui, Path):
        assert both_stores.ui.stat().st_mode & 0o077 == 0


def test_equal_state_is_not_a_change(store: UiStore) -> None:
    change = Change(location="/runs", label_filters={View.RUNS: ("a",)}, collapse=("s",))
    assert store.change(change, by="one", now_us=1).revision == 1
    assert store.change(change, by="two", now_us=2) == store.state()
    assert store.revision() == (1, "one")
    emptied = Change(experiment_id="", label_filters={View.RUNS: ()}, expand=("s", "unknown"))
    assert store.change(emptied, now_us=3) == UiState(revision=2, location="/runs")


def test_oldest_collapsed_spans_are_dropped_first(
    store: UiStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_COLLAPSED", 3)
    store.change(Change(collapse=("a", "b", "c")), now_us=1)
    shown = store.change(Change(collapse=("d", "a"), expand=("b",)), now_us=2)
    assert shown.collapsed_span_ids == ("a", "c", "d")
    assert store.change(Change(collapse=("e",)), now_us=3).collapsed_span_ids == ("c", "d", "e")


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef"))),
        max_size=6,
    )
)
def test_collapsed_spans_behave_like_a_set(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[str], list[str]]]
) -> None:
    store = UiStore(tmp_path_factory.mktemp("ui") / "ui.db")
    known: set[str] = set()
    for expand, collapse in steps:
        shown = store.change(Change(collapse=tuple(collapse), expand=tuple(expand)), now_us=1)
        known = (known - set(expand)) | set(collapse)
        assert set(shown.collapsed_span_ids) == known
    store.close()


def test_unusable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ui.db").write_bytes(b"no database, and long enough to be seen as none" * 30)
    with pytest.raises(StoreError, match="cannot be read or written"):
        UiStore(tmp_path / "ui.db").state()


def test_last_used_page_comes_first_and_silent_pages_are_dropped(store: UiStore) -> None:
    store.renew_pages(("one", "two"), 1_000)
    store.change(Change(location="/runs"), by="one", now_us=2_000)
    store.change(Change(), by="unknown", now_us=3_000)
    assert [(page.id, page.location) for page in store.pages(4_000)] == [
        ("one", "/runs"),
        ("two", "/"),
    ]
    store.renew_pages(("two",), CONNECTED_US)
    assert [page.id for page in store.pages(CONNECTED_US + 1_001)] == ["two"]
    store.remove_page("two")
    assert store.pages(CONNECTED_US + 1_001) == ()


async def test_request_without_a_page_has_no_answer(store: UiStore) -> None:
    assert await Ui(store, HastyClock()).ask(GetCollapsedSpans()) == Reply()


async def test_request_waits_for_a_limited_time(store: UiStore) -> None:
    clock = HastyClock()
    store.renew_pages(("tab",), clock.now_us())
    before = clock.monotonic()
    assert await Ui(store, clock, patience=1.0).ask(GetCollapsedSpans()) == Reply("tab")
    assert 1.0 <= clock.monotonic() - before < 1.2


async def test_page_receives_a_request_through_the_file_and_answers_once(
    store: UiStore, both_stores: Stores
) -> None:
    bus = EventBus()
    ui = Ui(store)
    request_id = uuid4()
    async with UiFeed(store, bus) as feed, feed.attended("old"), feed.attended("tab"):
        await ui.change(Change(location="/runs"), by="tab")
        with bus.subscribe(UiRequested, UiChanged) as events:
            other_store = UiStore(both_stores.ui)
            elsewhere = Ui(other_store)  # in the role of another process
            asking = asyncio.create_task(
                elsewhere.ask(NavigateTo(url="/threads"), request_id=request_id)
            )
            seen = []
            async for envelope in events:
                seen.append(envelope.event)
                if isinstance(envelope.event, UiRequested):
                    break
        changed, asked = seen
        assert isinstance(changed, UiChanged)
        assert (changed.revision, changed.by) == (1, "tab")
        assert isinstance(asked, UiRequested)
        assert (asked.page, asked.request_id) == ("tab", request_id)
        assert asked.request == {"type": "navigate_to", "url": "/threads"}
        with pytest.raises(UsageError, match="does not answer navigate_to"):
            await ui.answer(asked.ui_id, CollapsedSpans(collapsedSpanIds=()))
        with pytest.raises(NotFoundError):
            await ui.answer(UUID(int=1), Done(type="navigate_to_response", success=True))
        answer = Done(type="navigate_to_response", success=True)
        assert await ui.answer(asked.ui_id, answer)
        assert not await ui.answer(asked.ui_id, answer)
        assert await asking == Reply("tab", answer)
    other_store.close()
    assert await ui.pages() == ()


async def test_unusable_file_does_not_stop_the_server(tmp_path: Path) -> None:
    (tmp_path / "ui.db").write_bytes(b"no database, and long enough to be seen as none" * 30)
    broken = UiStore(tmp_path / "ui.db")
    async with UiFeed(broken, EventBus()) as feed, feed.attended("tab"):
        with pytest.raises(StoreError):
            await Ui(broken).state()


async def test_page_that_returns_at_once_stays_open(store: UiStore) -> None:
    async with UiFeed(store, EventBus()) as feed:
        async with feed.attended("tab"):
            pass
        async with feed.attended("tab"):
            await asyncio.sleep(0.3)
            assert [page.id for page in await Ui(store).pages()] == ["tab"]


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "//evil.example/traces",
        "/\\evil.example",
        "javascript:alert(1)",
        "/traces/../api/v1/health",
        "/api/v1/traces",
        "/mcp",
        "traces/1",
        "/traces/a b",
        "/traces/\x01",
        "/traces/ü",
        "/traces/'><script>",
        "",
        "/nothing",
        "/traces/" + "x" * 2_000,
    ],
)
def test_foreign_addresses_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not an address of the page"):
        own_address(url)


@pytest.mark.parametrize(
    "url", ["/", *(f"/{screen}" for screen in SCREENS), "/traces/a%2Fb?span=c"]
)
def test_screens_are_valid_addresses(url: str) -> None:
    assert own_address(url) == url


def test_the_list_of_a_screen() -> None:
    assert view_at("/threads/1?x=2") is View.THREADS
    assert view_at("/traces/1") is View.SPANS
    assert view_at("/") is View.RUNS
