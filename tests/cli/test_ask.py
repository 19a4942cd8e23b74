"""`treadle ask` as a user runs it: a process, a repository, a provider over real HTTP."""

import asyncio
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ran, ended, start, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Cut, Pause, delta, error, sse

CONTEXT = Call("request_code_context", {"token_budget": 2000, "hint": "add"}, id="c1")
KEY = "sk-very-secret-0123456789abcdefghij"


SOURCES = "\nSources (the code that the model received)\n  calc.py:1-3  calc.add\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text(
        'def add(left, right):\n    """Sum of two numbers."""\n    return left + right\n'
    )
    (folder / "other.py").write_text("def unrelated():\n    pass\n")
    return folder


async def ask(
    provider: FakeProvider, repo: Path, *options: str, question: str = "How does add work?"
) -> Ran:
    process = await start(
        "ask",
        question,
        *options,
        home=repo.parent / "home",
        repo=repo,
        TREADLE_BASE_URL=provider.base_url,
        TREADLE_API_KEY=KEY,
    )
    return await ended(process)


def lines(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


async def test_an_image_and_lines_of_code_go_along_with_a_question(repo: Path) -> None:
    (repo.parent / "dot.gif").write_bytes(b"GIF89a dot")
    options = "--image", str(repo.parent / "dot.gif"), "--attach", "calc.py:1-2"
    async with FakeProvider([Answer("A dot.")]) as provider:
        ran = await ask(provider, repo, *options)
        absent = await ask(provider, repo, "--image", "absent.png")
    assert (ran.status, ran.out.partition("\n")[0]) == (0, "A dot.")
    content = provider.requests[0].messages[-1]["content"]
    assert isinstance(content, list)
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert 'source="attached: calc.py:1-2"' in content[0]["text"]
    assert absent.status == 2
    assert "The image 'absent.png' cannot be read" in absent.err


@pytest.mark.parametrize("options", [[], ["--no-stream"]])
async def test_answer_and_sources_go_to_standard_output(repo: Path, options: list[str]) -> None:
    async with FakeProvider([Answer("", (CONTEXT,)), Answer("It **adds**.")]) as provider:
        ran = await ask(provider, repo, *options)
    assert ran.status == 0
    assert ran.out == f"It **adds**.\n{SOURCES}"
    assert "● request_code_context" in ran.err
    assert "1 snippet of 1 file" in ran.err
    assert "1 tool call · 20 tokens in, 10 out" in ran.err
    assert KEY not in ran.out + ran.err


async def test_tool_message_contains_the_bytes_of_the_file(repo: Path) -> None:
    async with FakeProvider([Answer("", (CONTEXT,)), Answer("Done.")]) as provider:
        await ask(provider, repo)
    first, second = provider.requests
    assert "How does add work?" in str(first.messages[-1]["content"])
    assert "request_code_context" in first.tool_names
    result = json.loads(str(second.messages[-1]["content"]))
    data = (repo / "calc.py").read_bytes()
    assert list(result) == ["ok", "query", "top_k", "context", "omitted"]
    assert result["context"][0]["snippet"] == (
        f'<code="{repo / "calc.py"}" #0:{len(data) - 1}>\n{data.decode().rstrip()}\n</code>'
    )


async def test_code_in_the_answer_is_compared_with_the_disk(repo: Path) -> None:
    def quote(start: int, code: str) -> str:
        return f'<code="{repo / "calc.py"}" #{start}:{start + len(code)}>\n{code}\n</code>\n'

    text = quote(0, "def add(left, right):") + quote(0, "return left") + quote(0, "def sub():")
    async with FakeProvider([Answer(text), Answer(text)]) as provider:
        shown = await ask(provider, repo)
        told = lines(await ask(provider, repo, "--json"))[-1]["quotes"]
    assert shown.out.endswith(
        "\nQuoted (the code in the answer, compared with the files)\n"
        "  ✓ matches calc.py:1-1\n"
        "  ✓ matches at other bytes than stated, calc.py:3-3\n"
        "  ✗ differs from calc.py\n"
    )
    assert [(q["verdict"], q["start_line"]) for q in told] == [
        ("exact", 1), ("moved", 3), ("different", 0),
    ]  # fmt: skip


async def test_json_prints_every_event_and_ends_with_the_final_line(repo: Path) -> None:
    calls = (
        Call("read_file", {"path": "calc.py"}, id=""),
        Call("list_dir", {"path": "."}, id=""),
        Call("no_such_tool", {}, id=""),
    )
    async with FakeProvider([Answer("Looking.", calls), Answer("So.")]) as provider:
        ran = await ask(provider, repo, "--json")
    events = lines(ran)
    kinds = [event["type"] for event in events]
    assert set(kinds[: kinds.index("SessionStarted")]) == {"IndexProgress"}
    assert kinds[-2:] == ["SessionFinished", "final"]
    assert kinds.count("ToolCallRequested") == 3
    assert kinds.count("ToolCallCompleted") == 2
    assert [event["seq"] for event in events[:-1]] == sorted(e["seq"] for e in events[:-1])
    failed = next(event for event in events if event["type"] == "ToolCallFailed")
    assert (failed["key"], failed["error"]["kind"]) == ({"turn": 0, "slot": 2}, "unknown_tool")
    final = events[-1]
    assert (final["text"], final["stop_reason"], final["tool_calls"]) == ("So.", "completed", 3)
    assert final["usage"]["input"] == 20
    assert final["cost"] is None
    results = [m for m in provider.requests[1].messages if m["role"] == "tool"]
    assert [json.loads(str(m["content"]))["ok"] for m in results] == [True, True, False]


async def test_invalid_key_is_reported_in_one_line_without_retry(repo: Path) -> None:
    async with FakeProvider([error(401, f"Incorrect API key provided: {KEY}")]) as provider:
        ran = await ask(provider, repo)
    assert ran.status == 4
    assert KEY not in ran.out + ran.err
    assert ran.out == ""
    *states, said = ran.err.strip().splitlines()
    assert "TREADLE_API_KEY" in said
    assert all(line.startswith("…") for line in states)  # on a busy machine it says it waits


async def test_failure_in_json_ends_with_a_final_line(repo: Path) -> None:
    async with FakeProvider([error(400, "context too long")]) as provider:
        ran = await ask(provider, repo, "--json")
    final = lines(ran)[-1]
    assert ran.status == 4
    assert (final["type"], final["stop_reason"]) == ("final", "failed")
    assert final["error"]["message"]


async def test_rate_limit_is_reported_and_retried(repo: Path) -> None:
    async with FakeProvider(
        [error(429, "slow down", retry_after="1"), Answer("Late.")]
    ) as provider:
        ran = await ask(provider, repo)
    assert (ran.status, ran.out) == (0, f"Late.\n{SOURCES}")
    assert "Trying again in 1.0 s." in ran.err


async def test_truncated_stream_after_shown_text_is_a_failure(repo: Path) -> None:
    async with FakeProvider([sse(delta(content="Half an ans"), Cut(), done=False)]) as provider:
        ran = await ask(provider, repo)
    assert ran.status == 4
    assert ran.out == "Half an ans\n"


async def test_no_tools_offers_none(repo: Path) -> None:
    async with FakeProvider([Answer("Plain.")]) as provider:
        ran = await ask(provider, repo, "--no-tools")
    assert (ran.status, ran.out) == (0, f"Plain.\n{SOURCES}")
    assert provider.requests[0].tool_names == []


async def test_foreign_text_is_escaped(repo: Path) -> None:
    async with FakeProvider([Answer("[bold]x[/bold] \x1b[31mred [/]")]) as provider:
        ran = await ask(provider, repo)
    assert ran.out == f"[bold]x[/bold] \\x1b[31mred [/]\n{SOURCES}"


async def test_ctrl_c_cancels_the_turn_and_the_conversation_continues(repo: Path) -> None:
    home = repo.parent / "home"
    hanging = sse(delta(content="I will"), Pause(), done=False)
    async with FakeProvider([hanging, Answer("Now then.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url}
        process = await start("ask", "First?", home=home, repo=repo, **env)
        await provider.wait_for_requests(1)
        assert process.stdout is not None
        assert await process.stdout.read(6) == b"I will"
        process.send_signal(signal.SIGINT)
        ran = await ended(process)
        assert ran.status == 130
        assert ran.err.strip().endswith("Cancelled.")
        again = await ask(provider, repo, "--session", "last", question="Second?")
    assert again.out.splitlines()[0] == "Now then."
    asked = "".join(str(m["content"]) for m in provider.requests[1].messages if m["role"] == "user")
    assert "First?" in asked
    assert asked.endswith("Second?")
    shown = treadle("sessions", "show", "last", home=home, repo=repo)
    assert "You: First?" in shown.out
    assert "this turn ended: cancelled" in shown.out


async def test_silent_provider_is_reported_within_seconds(repo: Path) -> None:
    late = sse(Pause(3.5), delta(content="Well.", finish_reason="stop"))
    async with FakeProvider([late]) as provider:
        ran = await ask(provider, repo)
    assert ran.status == 0
    assert re.search(r"… waiting for custom \([23] s\)", ran.err)


async def test_trace_shows_what_happened(repo: Path) -> None:
    home = repo.parent / "home"
    async with FakeProvider([Answer("", (CONTEXT,)), Answer("It adds.")]) as provider:
        await ask(provider, repo)
    shown = treadle("traces", "show", "LAST", home=home).out
    for told in (
        "How does add work?",
        "fake-model",
        "request_code_context",
        "calc.py:1-3",
        "It adds.",
        "2 model calls, 1 tool call, 20 tokens in, 10 out, cost unknown",
    ):
        assert told in shown
    trace = json.loads(treadle("traces", "show", "LAST", "--json", home=home).out)
    kinds = [span["kind"] for span in trace["spans"]]
    assert sorted(kinds) == ["model", "model", "retrieval", "retrieval", "run", "tool"]
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert KEY.encode() not in stored


async def test_closed_output_ends_the_turn(repo: Path) -> None:
    endless = sse(*(delta(content="word " * 50) for _ in range(400)), Pause(), done=False)
    async with FakeProvider([endless]) as provider:
        process = await start(
            "ask", "Q?", home=repo.parent / "home", repo=repo, TREADLE_BASE_URL=provider.base_url
        )
        assert process.stdout is not None
        await process.stdout.read(10)
        transport = process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]  # no public way to close one end
        transport.close()
        assert await asyncio.wait_for(process.wait(), 60) == 1
        assert process.stderr is not None
        assert b"Traceback" not in await process.stderr.read()


async def test_question_is_answered_if_nothing_can_be_saved(repo: Path) -> None:
    data = repo.parent / "home" / "data"
    data.mkdir(parents=True)
    for name in ("conversations.db", "traces.db"):
        (data / name).write_bytes(b"this is no database, and long enough to be taken for one" * 99)
    async with FakeProvider([Answer("Still here.")]) as provider:
        ran = await ask(provider, repo)
    assert (ran.status, ran.out) == (0, f"Still here.\n{SOURCES}")
    assert "! This conversation is not saved: " in ran.err
    assert "conversations.db" in ran.err
    assert "traces.db" in ran.err


@pytest.mark.slow
async def test_listed_ids_are_accepted_everywhere(repo: Path) -> None:
    home = repo.parent / "home"
    async with FakeProvider([Answer("One."), Answer("Two.")]) as provider:
        await ask(provider, repo)
        listed = treadle("sessions", "list", home=home, repo=repo).out.splitlines()[1].split()[0]
        again = await ask(provider, repo, "--session", listed, question="And then?")
    assert again.out.startswith("Two.")
    assert "You: And then?" in treadle("sessions", "show", "LAST", home=home, repo=repo).out
    trace = treadle("traces", "list", home=home).out.splitlines()[1].split()[0]
    assert "And then?" in treadle("traces", "show", trace, home=home).out


async def test_read_only_conversation_writes_nothing_until_the_person_leaves_the_mode(
    repo: Path,
) -> None:
    create = Answer("", (Call("create_file", {"path": "new.txt", "content": "x\n"}, id="c1"),))
    config = repo.parent / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[approvals]\nallow = ["create_file"]\n')
    answers = create, Answer("No."), create, Answer("No."), create, Answer("Yes.")
    async with FakeProvider(answers) as provider:
        first = await ask(provider, repo, "--read-only")
        second = await ask(provider, repo, "--session", "last", "--json")
        assert not (repo / "new.txt").exists()
        third = await ask(provider, repo, "--session", "last", "--no-read-only")
    assert "mode read_only" in first.err
    failed = [line for line in lines(second) if line["type"] == "ToolCallFailed"]
    assert failed[0]["error"]["kind"] == "denied"
    assert third.status == 0, third.err
    assert (repo / "new.txt").read_text() == "x\n"


async def test_plan_of_the_model_is_printed_recorded_and_part_of_the_events(repo: Path) -> None:
    def plan(state: str) -> Answer:
        steps = [{"id": "1", "text": "Read calc.py\nwell", "state": state}]
        return Answer("", (Call("update_plan", {"steps": steps}, id="c1"),))

    script = plan("doing"), plan("done"), Answer("Read.")
    async with FakeProvider([*script, *script]) as provider:
        shown = await ask(provider, repo)
        told = lines(await ask(provider, repo, "--json"))
        assert "1 doing: Read calc.py\\nwell" in str(provider.requests[1].messages[-1]["content"])
    assert "Plan: 0 of 1 steps done\n  ▸ 1 Read calc.py\\nwell\n" in shown.err
    assert "Plan: 1 of 1 steps done\n  ✓ 1 Read calc.py\\nwell\n" in shown.err
    changes = [line["steps"][0]["state"] for line in told if line["type"] == "PlanChanged"]
    assert changes == ["doing", "done"]
    home = repo.parent / "home"
    exported = treadle("sessions", "export", "last", "--format", "json", home=home, repo=repo)
    saved = json.loads(exported.out)
    assert saved["plan"] == [{"id": "1", "text": "Read calc.py\\nwell", "state": "done"}]
    trace = treadle("traces", "show", "LAST", "--json", home=home)
    assert "1 done: Read calc.py" in trace.out
