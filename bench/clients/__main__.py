"""Compare what Treadle records of real client libraries with the true figures.

Run: python -m bench.clients [CLIENT …] [--environments FOLDER] [--record] [--all] [--spans]

Each client runs its program of `bench/clients/programs` in its own environment, with the packages
of `bench/clients/requirements`. The program runs the lines of the client's page in `docs/clients`
and makes the calls of `scenario`. A fake provider answers them with known figures. The recorded
spans are read over the HTTP API of a real server. The table has one row for each figure that is
not exact. `--record` writes the exports as fixtures for the tests.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from bench.clients import provider, scenario
from bench.clients.exports import Exports, forwarding
from bench.clients.truth import CONTEXT_QUERIES, ComparedPart, Difference, Part, Row, compare
from bench.environments import environment, node_environment
from bench.traces.servers import Treadle, running

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS, REQUIREMENTS = Path(__file__).parent / "programs", Path(__file__).parent / "requirements"
PAGES = ROOT / "docs" / "clients"
RECORDED = ROOT / "tests" / "spans" / "vocabularies" / "clients"
ADDRESS = "http://127.0.0.1:7070"
"""The address of the server on the pages."""
SECONDS = 180
_BLOCK = re.compile(r"```(?:python|js)\n(.*?)```", re.DOTALL)


class Program(NamedTuple):
    """The command that runs the program of a client, and its working folder."""

    command: Sequence[str]
    folder: Path


def names() -> list[str]:
    """All clients."""
    return sorted(file.stem for file in REQUIREMENTS.glob("*.txt"))


def setup_lines(client: str) -> str:
    """The first block of code on the client's page.

    `mlflow_semconv` is a variant of `mlflow`, and shares its page.
    """
    own, shared = PAGES / f"{client}.md", PAGES / f"{client.partition('_')[0]}.md"
    page = own if own.exists() else shared
    found = _BLOCK.search(page.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{page} has no block of code")
    return found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("clients", nargs="*", choices=[[], *names()], help="default: all")
    parser.add_argument("--environments", type=Path, help="the folder that keeps environments")
    parser.add_argument("--record", action="store_true", help="write the fixtures")
    parser.add_argument("--all", action="store_true", help="print figures that are not sent too")
    parser.add_argument("--spans", action="store_true", help="print all spans as JSON lines first")
    given = parser.parse_args()
    lines = ["| client | part | span | figure | result | wanted | recorded |", "|-|-|-|-|-|-|-|"]
    counts = ["| client | figures | exact | wrong | missing | not sent |", "|-|-:|-:|-:|-:|-:|"]
    with _folder(given.environments) as folder:
        for client in given.clients or names():
            rows, compared = run_client(client, folder, record=given.record)
            if given.spans:
                print("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
            total = sum(each.figures for each in compared)
            differences = [one for each in compared for one in each.differences]
            words = [each.word for each in differences]
            shown = [words.count(word) for word in ("wrong", "missing", "not sent")]
            exact = total - len(words)
            counts.append(f"| {client} | {total} | {exact} | {' | '.join(map(str, shown))} |")
            lines += [
                _line(client, each) for each in differences if given.all or each.excuse is None
            ]
    print("\n".join([*counts, "", *(lines if len(lines) > 2 else [])]))


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given.absolute()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _line(client: str, each: Difference) -> str:
    texts = [str(value).replace("|", "\\|")[:300] for value in (each.wanted, each.got)]
    return f"| {client} | {each.part} | {each.span} | {each.figure} | {each.word} | {texts[0]} | {texts[1]} |"  # noqa: E501


def run_client(
    client: str, folder: Path, *, record: bool
) -> tuple[Sequence[Row], list[ComparedPart]]:
    """Run one client. Returns the recorded spans, and the comparison of each part."""
    requirements = REQUIREMENTS / f"{client}.txt"
    packages = _changes(requirements)
    if (PROGRAMS / f"{client}.mjs").exists():
        node_folder = node_environment(folder / client, packages)
        for module in PROGRAMS.glob("*.mjs"):
            shutil.copy(module, node_folder)
        command, cwd = ["node", f"{client}.mjs"], node_folder
    else:
        python = environment(folder / client, ["-r", str(requirements), *packages]) / "python"
        command, cwd = [str(python), "-m", f"bench.clients.programs.{client}"], ROOT
    with tempfile.TemporaryDirectory() as home, running(Treadle(), Path(home)) as server:
        return asyncio.run(_observe(client, Program(command, cwd), server.port, record))


def _changes(requirements: Path) -> list[str]:
    """The pinned requirements themselves, so that a change of one makes the environment again."""
    lines = requirements.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-"))]


async def _observe(
    client: str, program: Program, port: int, record: bool
) -> tuple[Sequence[Row], list[ComparedPart]]:
    server = f"http://127.0.0.1:{port}"
    async with provider.provider() as fake, forwarding(server) as exports:
        said = await _run_program(client, program, fake.base_url, exports)
        rows = await _rows(server)
    first, *parts = said
    if record:
        fixture = {**first, "setup": setup_lines(client), "parts": parts}
        text = json.dumps(fixture | exports.as_fixture(), ensure_ascii=False, indent=1)
        RECORDED.mkdir(exist_ok=True)
        (RECORDED / f"{client}.json").write_text(text + "\n", encoding="utf-8")
    for part in parts:
        if part["raised"] and part["part"] not in ("fail", "failing tool"):
            print(f"{client}: {part['part']} raised {part['raised']}", file=sys.stderr)
    for refusal in exports.refused:
        print(f"{client}: {refusal}", file=sys.stderr)
    return rows, list(compare(rows, [Part(**part) for part in parts], first["lacks"]))


async def _run_program(
    client: str, program: Program, provider_url: str, exports: Exports
) -> list[dict[str, Any]]:
    """Run the program, and return what it states about itself and about each part."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("TREADLE", "OTEL", "PYTHON"))}
    with tempfile.TemporaryDirectory() as home:
        setup = setup_lines(client).replace(ADDRESS, exports.url)
        if program.folder != ROOT:
            (program.folder / "setup.mjs").write_text(setup, encoding="utf-8")
        environment_variables = {
            **kept,
            "HOME": home,
            "SETUP": setup,
            "SCENARIO": _scenario(),
            "PROVIDER_URL": provider_url,
            "OTLP_URL": f"{exports.url}/v1/traces",
            "TREADLE_URL": exports.url,
            "OPENAI_BASE_URL": provider_url,
            "OPENAI_API_KEY": "none",
        }
        process = await asyncio.create_subprocess_exec(
            *program.command,
            cwd=program.folder,
            env=environment_variables,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
        except TimeoutError:
            process.kill()
            raise
    lines = output.decode().splitlines()
    said = [json.loads(line[3:]) for line in lines if line.startswith("@@ ")]
    if process.returncode or not said:
        raise RuntimeError(f"{client} ended with {process.returncode}: {lines[-20:]}")
    return said


def _scenario() -> str:
    """The constants of the scenario as JSON, for programs in other languages."""
    return json.dumps({name: value for name, value in vars(scenario).items() if name.isupper()})


async def _rows(server: str) -> Sequence[Row]:
    """All recorded spans, as the HTTP API returns them."""
    async with aiohttp.ClientSession(f"{server}/api/v1/") as session:
        listed = await (await session.get("spans", params={"limit": 1_000})).json()
        found: dict[str, set[str]] = {}
        for figure, query in CONTEXT_QUERIES.items():
            parameters = {"query": query, "limit": "1000"}
            answer = await (await session.get("spans", params=parameters)).json()
            found[figure] = {row["span_id"] for row in answer.get("data", ())}
        rows: list[Row] = []
        for row in listed["data"]:
            path = f"spans/{row['trace_id']}/{row['span_id']}"
            whole = await (await session.get(path, params={"whole": "true"})).json()
            rows.append({**whole["span"], **row, "found_by": [
                figure for figure, ids in found.items() if row["span_id"] in ids
            ]})  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
