"""A server with two filled projects, and the ids of everything in one of them."""

import asyncio
import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from psycopg import sql
from websockets.asyncio.client import ClientConnection, connect

from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Answer, Call
from tests.isolation.statements import RecordedStatements, record_statements
from tests.server.in_process import serving_app
from treadle.app.stores import Stores
from treadle.clock import SystemClock
from treadle.config.loader import load
from treadle.database import PostgresAddress, StoreAddress
from treadle.database.address import DEFAULT_PROJECT
from treadle.database.postgres_functions import PROJECT_SETTING
from treadle.identity.identity import Limits, Scope
from treadle.identity.store import IdentityStore
from treadle.paths import user_config_dir
from treadle.server.app import create_app

VICTIM, OTHER = "victim", "other"
"""The parts that the two projects play."""
RECORDED = {VICTIM: "lovebird", OTHER: "bluebird"}
"""A word in a recorded message of each project, for queries."""
WORDS = {VICTIM: "canary", OTHER: "finch"}
"""A word in the names of everything in each project."""
SECRETS = {VICTIM: "nightingale", OTHER: "woodpecker"}
"""A word in all texts of each project. No request of the test contains that of the victim."""


MEDIA = {part: f"The image of the {secret}.".encode() for part, secret in SECRETS.items()}
"""The content of an uploaded image of each project."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The names of the two projects, and the PostgreSQL database of their stores, if any."""

    victim: str = "alpha"
    other: str = "beta"
    url: str | None = None

    @property
    def names(self) -> Mapping[str, str]:
        """The name of the project that plays each part."""
        return {VICTIM: self.victim, OTHER: self.other}


class Kind(StrEnum):
    """The kinds of ids that a request can contain."""

    THREAD = "thread"
    RUN = "run"
    TRACE = "trace"
    SPAN = "span"
    SPAN_PATH = "span_path"
    """A trace and a span, as `TRACE/SPAN`."""
    BLOB = "blob"
    LABEL = "label"
    USER = "user"
    SESSION = "session"
    AGENT_SESSION = "agent_session"
    TURN = "turn"
    APPROVAL = "approval"
    PERMISSION = "permission"
    PROPOSAL = "proposal"
    EXPERIMENT = "experiment"
    BATCH = "batch"
    VIEW = "view"
    BREAKPOINT = "breakpoint"
    HELD_CALL = "held_call"
    UI_REQUEST = "ui_request"
    PAGE = "page"
    FRONT_END = "front_end"
    TOOL = "tool"
    """An external tool, which a front end runs."""
    CHECK = "check"
    AGENT = "agent"
    PROVIDER = "provider"
    MODEL = "model"
    FILE = "file"
    ITEM = "item"
    MEDIA = "media"
    ROOT = "root"
    """The root of a repository."""
    WORD = "word"
    """A word in recorded messages."""


UNKNOWN: Mapping[Kind, str] = {
    Kind.THREAD: "thread-nowhere",
    Kind.RUN: "run-nowhere",
    Kind.TRACE: "d" * 32,
    Kind.SPAN: "d" * 16,
    Kind.SPAN_PATH: f"{'d' * 32}/{'d' * 16}",
    Kind.BLOB: "d" * 64,
    Kind.LABEL: "label-nowhere",
    Kind.USER: "user-nowhere",
    Kind.SESSION: "01900000-0000-7000-8000-0000000000dd",
    Kind.AGENT_SESSION: "01900000-0000-7000-8000-0000000000de",
    Kind.TURN: "01900000-0000-7000-8000-0000000000df",
    Kind.APPROVAL: "01900000-0000-7000-8000-0000000000da",
    Kind.PERMISSION: "always-7",
    Kind.PROPOSAL: "01900000-0000-7000-8000-0000000000db",
    Kind.EXPERIMENT: "01900000-0000-7000-8000-0000000000dc",
    Kind.BATCH: "01900000-0000-7000-8000-0000000000d0",
    Kind.VIEW: "01900000-0000-7000-8000-0000000000d1",
    Kind.BREAKPOINT: "01900000-0000-7000-8000-0000000000d2",
    Kind.HELD_CALL: "01900000-0000-7000-8000-0000000000d3",
    Kind.UI_REQUEST: "01900000-0000-7000-8000-0000000000d4",
    Kind.PAGE: "page-nowhere",
    Kind.FRONT_END: "editor-nowhere",
    Kind.TOOL: "tool_nowhere",
    Kind.CHECK: "check_nowhere",
    Kind.AGENT: "agentnowhere",
    Kind.PROVIDER: "providernowhere",
    Kind.MODEL: "model-nowhere",
    Kind.FILE: "nowhere_file.py",
    Kind.ITEM: "nowhere_item",
    Kind.MEDIA: "nowheremedia0000000000",
    Kind.ROOT: "/nowhere",
    Kind.WORD: "dodobird",
}
"""An id of each kind that nothing in the server has."""
OTHER_UNKNOWN: Mapping[Kind, str] = {
    kind: each.replace("d", "e").replace("nowhere", "nowhither").replace("-7", "-8")
    for kind, each in UNKNOWN.items()
}


@dataclass(slots=True)
class World:
    """The running server, a client for each project, and the ids of the victim."""

    app: FastAPI
    address: str
    grpc_port: int
    http: Mapping[str, httpx2.AsyncClient]
    """A client for each project."""
    keys: Mapping[str, str]
    """An API key for each project."""
    stores: Mapping[str, Stores]
    provider: FakeProvider
    recorded: RecordedStatements
    roots: Mapping[str, Path]
    ids: dict[str, Mapping[Kind, str]] = field(default_factory=dict)
    """The ids of everything in each filled project."""

    def places(self, project: str) -> set[str]:
        """The names of the databases of a project, as `RecordedStatements` notes them."""
        return set(map(_place, _addresses(self.stores[project])))

    @asynccontextmanager
    async def socket(self, project: str, path: str) -> AsyncIterator[ClientConnection]:
        """Open a WebSocket with the API key of a project."""
        headers = {"Authorization": f"Bearer {self.keys[project]}"}
        url = self.address.replace("http", "ws") + path
        # The queue has no limit, since the page of a filled project does not read its events.
        async with connect(url, additional_headers=headers, max_queue=None) as opened:
            yield opened


def reply(request: RecordedRequest) -> Answer:
    """Propose an edit or call the external tool if the person asks for it, and answer otherwise."""
    word = str(request.body["model"]).removesuffix("model")
    last = request.messages[-1]
    text = str(last["content"])
    if last["role"] == "user" and "PROPOSE" in text:
        edit = {"file": f"{word}_file.py", "replace": {"old": "left + right", "new": "left"}}
        return Answer("", (Call("apply_code_edit", {"edits": [edit]}, id="c1"),))
    if last["role"] == "user" and "EXTERNAL" in text:
        return Answer("", (Call(f"{word}_tool", {"of": word}, id="c2"),))
    return Answer(f"The {_secret(word)} of the {word} sings.")


def _secret(word: str) -> str:
    return next(SECRETS[project] for project, each in WORDS.items() if each == word)


def repository(folder: Path, name: str, secret: str) -> Path:
    """Create a repository whose file, function and check have the name of the project."""
    root = folder / name
    (root / ".git").mkdir(parents=True)
    (root / f"{name}_file.py").write_text(
        f'def {name}_item(left, right):\n    """The {secret} of the {name}."""\n'
        "    return left + right\n"
    )
    script = root / "check.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return root


@asynccontextmanager
async def two_projects(
    folder: Path, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    """Serve two projects with a repository, a provider, a model, a check and an agent each."""
    monkeypatch.setenv("TREADLE_HOME", str(folder / "home"))
    if setup.url is not None:
        monkeypatch.setenv("TREADLE_STORE__URL", setup.url)
    record_statements(monkeypatch)
    roots = {part: repository(folder, word, SECRETS[part]) for part, word in WORDS.items()}
    keys = _keys(setup, roots)
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(FakeProvider([reply] * 500, strict=False))
        default, flags = repository(folder, "home_code", "owl"), {}
        for part, word in WORDS.items():
            settings, own_folder = (
                _settings(provider, word),
                Stores.of_user(setup.names[part]).folder,
            )
            if setup.names[part] == DEFAULT_PROJECT:
                # The user's file has the settings of all projects, so the default gets flags.
                default, flags, own_folder = roots[part], settings, user_config_dir()
            else:
                own_folder.mkdir(parents=True, mode=0o700)
                (own_folder / "config.toml").write_text(
                    "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
                )
            _define_agent(own_folder, word)
        with socket.create_server(("127.0.0.1", 0)) as free:
            grpc_port: int = free.getsockname()[1]
        flags["traces.grpc_port"] = grpc_port
        app = create_app(default, load(default, {}, flags), {})
        recorded = RecordedStatements(app)
        address = await stack.enter_async_context(serving_app(recorded))
        clients = {
            part: await stack.enter_async_context(
                httpx2.AsyncClient(
                    base_url=address, timeout=600, headers={"Authorization": f"Bearer {key}"}
                )
            )
            for part, key in keys.items()
        }
        stores = {part: Stores.of_user(name) for part, name in setup.names.items()}
        world = World(app, address, grpc_port, clients, keys, stores, provider, recorded, roots)
        yield world


def _keys(setup: Setup, roots: Mapping[str, Path]) -> Mapping[str, str]:
    """Add the two projects, and create an API key for each of them."""
    keys: dict[str, str] = {}
    with IdentityStore(Stores.of_user().identity) as identities:
        now = SystemClock().now_us()
        for part, name in setup.names.items():
            if name != DEFAULT_PROJECT:
                identities.projects.add(name, now, str(roots[part]))
            _, keys[part] = identities.keys.create(
                name, "test", frozenset(Scope) - {Scope.METRICS}, Limits(), created_by="test",
                expires_us=None,
                now_us=now,
            )  # fmt: skip
    return keys


def _settings(provider: FakeProvider, word: str) -> dict[str, object]:
    """The settings of a project by dotted key."""
    return {
        "model": f"{word}provider/{word}model",
        f"providers.{word}provider.base_url": provider.base_url,
        f"providers.{word}provider.models": [f"{word}model"],
        f"providers.{word}provider.max_retries": 0,
        "tools.timeout": 600.0,
        f"checks.commands.{word}_check.command": ["./check.sh"],
        f"checks.commands.{word}_check.parser": "none",
    }


def _define_agent(folder: Path, word: str) -> None:
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / f"{word}agent.md").write_text(
        f'+++\nname = "{word}agent"\ndescription = "The agent of the {_secret(word)}."\n'
        "tools = []\n+++\nAnswer.\n"
    )


async def contents(stores: Stores) -> dict[str, list[str]]:
    """Everything in the stores of a project, as soon as no background work changes it."""
    before: dict[str, list[str]] = {}
    while True:
        now = await asyncio.to_thread(_dump, stores)
        if now == before:
            return now
        before = now
        await asyncio.sleep(0.2)


def _addresses(stores: Stores) -> tuple[StoreAddress, ...]:
    """The addresses of a project's stores. All projects share the store of the identities."""
    return (
        stores.traces, stores.conversations, stores.approvals, stores.proposals,
        stores.breakpoints, stores.ui, stores.experiments,
    )  # fmt: skip


def _place(address: StoreAddress) -> str:
    return address.schema if isinstance(address, PostgresAddress) else str(address)


def _dump(stores: Stores) -> dict[str, list[str]]:
    dumped: dict[str, list[str]] = {}
    for address in _addresses(stores):
        if isinstance(address, PostgresAddress):
            dumped |= _dump_schema(address)
        elif address.exists():
            dumped |= _dump_file(address)
    assert any(dumped.values())
    return dumped


def _is_steady(table: str) -> bool:
    """Whether only requests change a table.

    The search index is filled later, and open pages report that they are open.
    """
    return not table.startswith("texts_") and table != "pages"


def _dump_file(path: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        ).fetchall()
        return {
            f"{path.name} {table}": sorted(
                map(repr, connection.execute(f'SELECT * FROM "{table}"'))
            )
            for (table,) in tables
            if _is_steady(table)
        }


def _dump_schema(address: PostgresAddress) -> dict[str, list[str]]:
    with psycopg.connect(address.url) as connection:
        connection.execute("SELECT set_config(%s, %s, false)", (PROJECT_SETTING, address.project))
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s", (address.schema,)
        ).fetchall()
        return {
            f"{address.store} {table}": sorted(
                map(
                    repr,
                    connection.execute(
                        sql.SQL("SELECT * FROM {}").format(sql.Identifier(address.schema, table))
                    ),
                )
            )
            for (table,) in tables
            if _is_steady(table)
        }
