"""Saved conversations, in real databases."""

import asyncio
import os
import signal
import sqlite3
import stat
import sys
import tempfile
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.database.notes import encoded
from tests.fakes.clock import FakeClock, settle
from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, Gate, results, stage, until
from treadle.app.stores import Stores
from treadle.database import Schema, StoreAddress, open_database
from treadle.database.sqlite import SqliteDatabase
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import CallKey, Notice, SessionFailed, StopReason
from treadle.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.session import Conversation, ConversationStore, Kind
from treadle.session.conversation import MessageState, title_of
from treadle.session.conversations import MIGRATIONS, SCHEMA
from treadle.session.message_json import decode, encode

text = st.text(st.characters())  # with lone surrogates
key = st.builds(CallKey, st.integers(0, 9), st.integers(0, 9))
maybe = st.none() | text
call = st.builds(ToolCall, key, text, text, text, text, maybe)
message = st.one_of(
    st.builds(SystemMessage, text),
    st.builds(UserMessage, text, text),
    st.builds(AssistantMessage, maybe, st.tuples(call, call), maybe, maybe, text, text),
    st.builds(ToolMessage, key, text, st.booleans()),
    st.builds(NoteMessage, text),
)


KEY = f"sk-ant-api03-{'aB3dE5gH7j' * 9}xyzAA"


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage(f"a {KEY}", f"b {KEY}"),
        UserMessage(f"a {KEY}", f"KEY = '{KEY}'"),
        AssistantMessage(
            f"a {KEY}", (ToolCall(CallKey(0, 0), "c", "grep", f'{{"p": "{KEY}"}}'),), f"b {KEY}"
        ),
        ToolMessage(CallKey(0, 0), f'{{"ok": true, "text": "{KEY}"}}', summary=f"a {KEY}"),
        NoteMessage(f"a {KEY}"),
    ],
)
def test_no_secret_of_any_message_is_stored(message: Message) -> None:
    kind, body = encode(message)
    assert KEY not in body
    assert "[redacted:" in body
    assert type(decode(kind, body)) is type(message)


@settings(max_examples=200, deadline=None)
@given(message)
def test_every_message_survives_a_round_trip(original: Message) -> None:
    kind, body = encode(original)
    assert body.isascii()
    assert decode(kind, body) == original


@pytest.mark.parametrize(
    ("kind", "body"),
    [("user", "{"), ("user", '{"texture": 1}'), ("assistant", "{}"), ("poem", "{}")],
)
def test_a_damaged_message_is_a_clear_error(kind: str, body: str) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        decode(kind, body)


@pytest.fixture
def address(both_stores: Stores) -> StoreAddress:
    return both_stores.conversations


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "conversations.sqlite"


async def add(store: ConversationStore, conversation: Conversation, *messages: Message) -> None:
    first = len(conversation.entries)
    for each in messages:
        conversation.add(each, conversation.updated_us + 1)
    await store.append(conversation, first)


async def test_a_conversation_survives_a_round_trip(address: StoreAddress, tmp_path: Path) -> None:
    async with await ConversationStore.open(address, clock=FakeClock()) as store:
        made = await store.create(tmp_path, "fake/model")
        await add(
            store, made, UserMessage("\n  What is it?\nTell."), AssistantMessage("\ud800 A loom.")
        )
        made.entries[0].stop_reason = StopReason.COMPLETED
        await store.update(made, made.entries[0])
    async with await ConversationStore.open(address) as store:
        loaded = await store.load("last", root=tmp_path)
        assert loaded == made
        assert loaded.title == "What is it?"
        (summary,) = await store.list()
        assert (summary.id, summary.turns) == (made.id, 1)
        assert summary.stop_reason is StopReason.COMPLETED


async def test_only_the_owner_can_read_a_new_file(path: Path) -> None:
    async with await ConversationStore.open(path):
        mode = await asyncio.to_thread(path.stat)
    assert stat.S_IMODE(mode.st_mode) == 0o600


async def test_last_means_the_last_conversation_of_the_repository(
    address: StoreAddress, tmp_path: Path
) -> None:
    clock = FakeClock()
    async with await ConversationStore.open(address, clock=clock) as store:
        one, two = tmp_path / "one", tmp_path / "two"
        made = []
        for root in (one, one, two):
            await clock.advance(1)
            made.append(await store.create(root, "m"))
        await add(store, made[0], UserMessage("later"))
        made[0].updated_us += 10_000_000
        await add(store, made[0], UserMessage("later still"))
        assert (await store.load("last", root=one)).id == made[0].id
        assert [s.id for s in await store.list(root=one)] == [made[0].id, made[1].id]
        assert [s.id for s in await store.list(limit=1)] == [made[0].id]
        with pytest.raises(NotFoundError, match="no conversation about"):
            await store.get("last", root=tmp_path / "three")


async def test_conversations_of_agents_and_of_the_assistant_are_separate(
    address: StoreAddress, tmp_path: Path
) -> None:
    clock = FakeClock()
    async with await ConversationStore.open(address, clock=clock) as store:
        own = await store.create(tmp_path, "m")
        await clock.advance(1)
        made = await store.create(tmp_path, "m", agent="data")
        await add(store, made, UserMessage("What went wrong?"))
        assert [each.id for each in await store.list()] == [own.id]
        assert [each.id for each in await store.list(kind=Kind.AGENT)] == [made.id]
        assert (await store.get("last", root=tmp_path)).id == own.id
        loaded = await store.load("last", root=tmp_path, kind=Kind.AGENT)
        assert (loaded.id, loaded.agent) == (made.id, "data")
        for kind, other in ((Kind.AGENT, own), (Kind.ASSISTANT, made)):
            with pytest.raises(NotFoundError):
                await store.get(str(other.id), root=tmp_path, kind=kind)
            with pytest.raises(NotFoundError):
                await store.delete(str(other.id), root=tmp_path, kind=kind)


async def test_references_are_ids_or_unique_prefixes(address: StoreAddress, tmp_path: Path) -> None:
    ids = iter([UUID("01234567" + "0" * 24), UUID("01234568" + "0" * 24)])
    async with await ConversationStore.open(address, ids=lambda: next(ids)) as store:
        first = await store.create(tmp_path, "m")
        await store.create(tmp_path, "m")
        assert (await store.get(str(first.id), root=tmp_path)).id == first.id
        assert (await store.get("01234567", root=tmp_path)).id == first.id
        with pytest.raises(UsageError, match=r"01234567-.*01234568-"):
            await store.get("012", root=tmp_path)
        for unknown in ("", "9", "%", "0123456_", str(UUID(int=1))):
            with pytest.raises(NotFoundError):
                await store.get(unknown, root=tmp_path)


async def test_a_write_completes_when_its_caller_is_cancelled(
    address: StoreAddress, tmp_path: Path
) -> None:
    async with await ConversationStore.open(address) as store:
        made = await store.create(tmp_path, "m")
        writers = [asyncio.ensure_future(add(store, made, UserMessage(str(n)))) for n in range(20)]
        await asyncio.sleep(0)
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        assert (await store.load("last", root=tmp_path)).messages == made.messages


async def test_two_writers_of_one_conversation_get_a_clear_error(
    address: StoreAddress, tmp_path: Path
) -> None:
    async with await ConversationStore.open(address) as store:
        made = await store.create(tmp_path, "m")
        async with await ConversationStore.open(address) as other:
            copy = await other.load(str(made.id), root=tmp_path)
            await add(store, made, UserMessage("mine"))
            with pytest.raises(StoreError, match="at the same time"):
                await add(other, copy, UserMessage("theirs"))
        assert (await store.load("last", root=tmp_path)).messages == (UserMessage("mine"),)


async def test_several_processes_open_a_new_file_at_once(address: StoreAddress) -> None:
    stores = await asyncio.gather(*(ConversationStore.open(address) for _ in range(6)))
    for store in stores:
        assert await store.list() == ()
        await store.close()


def test_a_file_of_a_newer_version_is_not_changed(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer version"):
        asyncio.run(ConversationStore.open(path))


def test_a_file_other_than_a_database_is_a_clear_error(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("no database, but long enough to be looked at as one " * 20)
    with pytest.raises(StoreError, match="cannot be read or written"):
        asyncio.run(ConversationStore.open(path))


def test_a_folder_in_the_way_is_a_clear_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be read or written"):
        asyncio.run(ConversationStore.open(path))


def test_titles_are_one_short_line() -> None:
    assert title_of("\n \n first \nsecond") == "first"
    assert title_of("") == ""
    assert title_of("x" * 200) == "x" * 79 + "…"


async def test_a_session_is_resumed_from_the_store(address: StoreAddress, tmp_path: Path) -> None:
    async with await ConversationStore.open(address) as store, stage(Echo()) as at:
        made = await store.create(tmp_path, "m")
        first = FakeModel(Say(calls=calls("echo")), Say("Done."))
        await at.session(first, store=store, conversation=made).run("Go")
        loaded = await store.load("last", root=tmp_path)
        assert loaded == made
        second = FakeModel(Say("Still here."))
        await at.session(second, store=store, conversation=loaded).run("And?")
        assert second.requests[0].messages[1:] == (*made.messages, UserMessage("And?"))
        assert [s.turns for s in await store.list()] == [2]


async def test_a_cancelled_session_is_saved_with_its_results(
    address: StoreAddress, tmp_path: Path
) -> None:
    tool = Gate()
    async with await ConversationStore.open(address) as store, stage(tool) as at:
        made = await store.create(tmp_path, "m")
        model = FakeModel(Say(calls=calls("gate", "gate")))
        running = asyncio.ensure_future(at.session(model, store=store, conversation=made).run("Go"))
        await until(lambda: len(tool.running) == 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        loaded = await store.load("last", root=tmp_path)
        assert loaded == made
        assert len(results(loaded.messages)) == 2
        assert loaded.entries[0].stop_reason is StopReason.CANCELLED


async def test_a_store_that_breaks_ends_the_session_with_its_error(
    address: StoreAddress, tmp_path: Path
) -> None:
    async with await ConversationStore.open(address) as store, stage(Echo()) as at:
        made = await store.create(tmp_path, "m")

        def broken(_: ChatRequest) -> Say:
            with open_database(address, SCHEMA) as database, database.use() as connection:
                connection.execute("DROP TABLE messages")
            return Say(calls=calls("echo"))

        with pytest.raises(StoreError, match="cannot be read or written"):
            await at.session(FakeModel(broken), store=store, conversation=made).run("Go")
        await settle()
        assert len(at.seen(SessionFailed)) == 1
        assert [notice.level for notice in at.seen(Notice)] == ["error"]


_KILLED = """
import asyncio, sys
from pathlib import Path
from tests.database.notes import decoded
from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, Gate, stage, until
from treadle.clock import SystemClock
from treadle.session import ConversationStore

async def main():
    root, gate = Path(sys.argv[1]), Gate()
    store = await ConversationStore.open(decoded(sys.argv[2]))
    async with stage(Echo(), gate, clock=SystemClock()) as at:
        made = await store.create(root, "m")
        model = FakeModel(Say(calls=calls("echo")), Say(calls=calls("gate")))
        session = at.session(model, store=store, conversation=made)
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: gate.running)
        print("waiting", flush=True)
        await running

asyncio.run(main())
"""


async def test_everything_before_a_kill_is_saved(address: StoreAddress, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _KILLED,
        str(tmp_path),
        encoded(address),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"waiting\n"
    os.kill(process.pid, signal.SIGKILL)
    await process.communicate()
    async with await ConversationStore.open(address) as store, stage() as at:
        loaded = await store.load("last", root=tmp_path)
        kinds = [type(m).__name__ for m in loaded.messages]
        assert kinds == ["UserMessage", "AssistantMessage", "ToolMessage", "AssistantMessage"]
        assert loaded.entries[0].stop_reason is None
        model = FakeModel(Say("On we go."))
        await at.session(model, store=store, conversation=loaded).run("Again")
        assert "ended without a result" in results(model.requests[0].messages)[1]


async def test_a_file_of_the_first_version_is_read_as_one_branch(
    path: Path, tmp_path: Path
) -> None:
    path.parent.mkdir()
    made = "01a2204f-9d90-7423-8f74-672273ff32a8"
    SqliteDatabase(path, Schema.of_migrations("conversations", MIGRATIONS[:1])).open().close()
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO conversations VALUES (?, ?, 'm', 'Old', 1, 2)", (made, str(tmp_path))
    )
    old: list[Message] = [UserMessage("One?"), AssistantMessage("One.")]
    for place, said in enumerate(old):
        row = (made, place, *encode(said), 1, None)
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    async with await ConversationStore.open(path) as store:
        loaded = await store.load("last", root=tmp_path)
        await add(store, loaded, UserMessage("Two?"))
        again = await store.load("last", root=tmp_path)
    assert [(e.number, e.parent) for e in again.entries] == [(0, None), (1, 0), (2, 1)]
    assert {e.state for e in again.entries} == {MessageState.COMPLETED}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=12))
def test_every_branch_survives_a_round_trip(points: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_branches(Path(folder) / "c.db", points))


@pytest.mark.slow
def test_every_branch_survives_a_round_trip_in_postgresql(postgres_url: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(0, 30), max_size=12))
    def check(points: list[int]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stores = Stores(Path(folder), postgres_url, f"p{uuid4().hex[:20]}")
            asyncio.run(_branches(stores.conversations, points))

    check()


async def _branches(address: StoreAddress, points: list[int]) -> None:
    """Add messages and move to any message: each path keeps its messages."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        async with await ConversationStore.open(address) as store:
            await add(store, await store.create(root, "m"), UserMessage("0"))
            paths = {0: ["0"]}
            for number, point in enumerate(points, 1):
                at = point % number
                branch = await store.branch("last", at, root=root)
                await add(store, branch, UserMessage(str(number)))
                paths[number] = [*paths[at], str(number)]
            for number, path in paths.items():
                loaded = await store.load("last", root=root, at=number)
                assert [getattr(m, "text", None) for m in loaded.messages] == path
            newest = await store.load("last", root=root)
            assert [getattr(m, "text", None) for m in newest.messages] == paths[len(points)]
            assert len(await store.tree(newest.id)) == len(paths)


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
async def test_a_conversation_with_a_lost_message_can_continue(
    address: StoreAddress, tmp_path: Path, lost: int
) -> None:
    asked = AssistantMessage(calls=(ToolCall(CallKey(0, 0), "c1", "echo", "{}", "fake"),))
    whole = (UserMessage("?"), asked, ToolMessage(CallKey(0, 0), "{}"), AssistantMessage("Yes."))
    async with await ConversationStore.open(address, clock=FakeClock()) as store:
        made = await store.create(tmp_path, "fake/model")
        await add(store, made, *whole)
    with open_database(address, SCHEMA) as database, database.use() as connection:
        connection.execute("DELETE FROM messages WHERE position = ?", (lost,))
    async with await ConversationStore.open(address, clock=FakeClock()) as store:
        found = await store.load("last", root=tmp_path)
        assert found.messages == (*whole[:lost], *whole[lost + 1 :])
        await add(store, found, UserMessage("And?"))
        again = await store.load("last", root=tmp_path)
        assert again.messages == (*whole[:lost], *whole[lost + 1 :], UserMessage("And?"))
