"""Every command with the option `--project`, which an owner runs for one of two projects."""

import argparse
import asyncio
import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import nats as nats_py
import pytest
from nats.aio.msg import Msg

from tests.cli.command import environment, start_of, treadle
from tests.engines import NatsServer, PostgresServer
from tests.traces.store.contract import full_span
from tests.workers.team import make_repository, within
from treadle.app.stores import Stores
from treadle.cli.main import COMMANDS
from treadle.identity.identity import NO_LIMITS, Role, Scope
from treadle.identity.records import Action
from treadle.identity.store import IdentityStore

WALKED: Mapping[str, Sequence[str]] = {
    "audit": (),
    "keys create": ("new",),
    "keys list": ("--all",),
    "store check": ("--deep",),
    "store copy": ("--to", "COPY"),
    "store migrate": (),
    "users invite": ("new@example.com",),
    "users remove": ("both@example.com",),
    "users role": ("both@example.com", "viewer"),
}
"""The words of each command. The worker has a test of its own."""
READING = frozenset({"audit", "keys list", "store check", "store copy", "store migrate"})
"""The commands that change nothing in the installation."""
NOW = 1_700_000_000_000_000

ALPHA, BETA = "alpha", "beta"


def commands_with_a_project() -> Iterator[str]:
    for name, entry in COMMANDS.items():
        parser = argparse.ArgumentParser(name)
        import_module(f"treadle.cli.commands.{entry.module}").COMMAND.configure(parser)
        yield from _with_a_project(parser, name)


def _with_a_project(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    for action in parser._actions:
        if "--project" in action.option_strings:
            yield name
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from _with_a_project(below, f"{name} {word}")


def test_every_command_with_a_project_is_walked() -> None:
    assert set(commands_with_a_project()) == {*WALKED, "worker"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation whose two projects have a key, an invitation, a user and a span each."""
    folder = tmp_path / "home"
    monkeypatch.setenv("TREADLE_HOME", str(folder))
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("TREADLE_STORE__URL", server.new_database())
    with IdentityStore(Stores.of_user().identity) as identities:
        for project, word in ((ALPHA, "canary"), (BETA, "finch")):
            identities.projects.add(project, NOW)
            identities.keys.create(
                project, f"{word}-key", frozenset(Scope), NO_LIMITS, created_by=f"{word}-user",
                expires_us=None, now_us=NOW,
            )  # fmt: skip
            for name in ("both", word):
                _, secret = identities.users.invite(
                    f"{name}@example.com", project, Role.ADMIN, now_us=NOW, microseconds=1
                )
                identities.users.accept_invitation(secret, NOW)
            identities.users.invite(
                f"{word}2@example.com", project, Role.VIEWER, now_us=NOW, microseconds=10**18
            )
            identities.audit.add(
                Action.EXPORT, who=f"user {word}", subject=f"GET /{word}", project=project,
                now_us=NOW,
            )  # fmt: skip
            with closing(Stores.of_user(project).open_traces()) as store:
                store.write([full_span(input=f"The {word} sings.", thread_id=word)]).result()
    return folder


def run(home: Path, command: str, project: str) -> str:
    """The output of a command for one project."""
    words = [word.replace("COPY", f"sqlite:{home / 'copy'}") for word in WALKED[command]]
    ran = treadle(*command.split(), *words, "--project", project, "--json", home=home)
    assert ran.status == 0, (command, ran.err)
    return ran.out + ran.err


def state_of(project: str) -> dict[str, Any]:
    """Everything of a project in the stores of the installation."""
    with IdentityStore(Stores.of_user().identity) as store:
        users = store.users.all()
        found: dict[str, Any] = {
            "keys": store.keys.all(project, revoked=True),
            "roles": {each.email: each.roles[project] for each in users if project in each.roles},
            "invitations": [i for i in store.users.invitations(NOW) if i.project == project],
            "audit": store.audit.entries(project=project),
        }
    with closing(Stores.of_user(project).open_traces()) as traces:
        found["span"] = traces.span("t", "s")
    return found


@pytest.mark.parametrize("command", WALKED)
def test_command_for_one_project_neither_shows_nor_changes_the_other(
    home: Path, command: str
) -> None:
    before, own = state_of(ALPHA), state_of(BETA)
    assert all(before.values())
    assert "canary" not in run(home, command, BETA)
    assert state_of(ALPHA) == before
    assert (state_of(BETA) == own) == (command in READING)
    if command == "store copy":
        with closing(Stores.at(f"sqlite:{home / 'copy'}", BETA).open_traces()) as copied:
            span = copied.span("t", "s")
            assert span is not None
            assert span.input == "The finch sings."


def test_lists_show_their_own_project(home: Path) -> None:
    for command in ("audit", "keys list"):
        assert "canary" in run(home, command, ALPHA)
        assert "finch" not in run(home, command, ALPHA)


async def test_worker_uses_no_name_of_another_project(nats: NatsServer, tmp_path: Path) -> None:
    project, heard = f"p{uuid4().hex[:20]}", list[str]()

    async def note(message: Msg) -> None:
        heard.append(message.subject)

    root, env = make_repository(tmp_path), {"TREADLE_BUS__URL": nats.url}
    listening = await nats_py.connect(nats.url)
    await listening.subscribe(">", cb=note)
    await listening.flush()
    process = await asyncio.create_subprocess_exec(
        *start_of(env), "worker", "--repos", str(root), "--project", project, "--json",
        stdout=asyncio.subprocess.PIPE, env=environment(tmp_path / "home", **env),
    )  # fmt: skip
    assert process.stdout is not None
    assert json.loads(await within(process.stdout.readline()))["type"] == "ready"
    process.send_signal(signal.SIGTERM)
    await within(process.communicate())
    await listening.close()
    named = [subject for subject in heard if "treadle" in subject]
    assert named
    assert [subject for subject in named if project not in subject] == []
