"""The cost of a start, counted in modules, since wall time depends on the machine."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from treadle.code import CodeIndex

HEAVY = {
    "genai_prices", "httpx2", "keyring", "mcp", "numpy", "openai", "pydantic", "re2", "rich",
    "sqlite3", "stamina", "tree_sitter", "xllamacpp",
}  # fmt: skip

NEEDLESS = HEAVY - {"sqlite3"} | {
    "asyncio", "concurrent.futures", "dataclasses", "difflib", "hashlib", "importlib.metadata",
    "inspect", "logging", "multiprocessing", "shutil", "subprocess", "tomllib",
    "treadle.code.languages", "treadle.code.parse", "treadle.code.storage.writer",
    "treadle.config.loader",
}  # fmt: skip
"""What a search of an up-to-date index does not need; most take 3 to 20 ms to load."""


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from treadle.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    # Without coverage in the started process, which imports modules of its own.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    assert "commands:" in done.stdout
    assert HEAVY & set(done.stderr.split()) == set()


@pytest.mark.parametrize(("query", "embedder"), [("calls", "none"), ("match_calls", "auto")])
def test_a_search_without_changes_imports_only_what_it_needs(
    tmp_path: Path, query: str, embedder: str
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "app.py").write_text(
        "def match_calls():\n    return find()\n\n\ndef find():\n    pass\n", encoding="utf-8"
    )
    old = time.time() - 60  # younger files are read once more
    os.utime(repository / "app.py", (old, old))
    command = [sys.executable, "-X", "importtime", "-m", "treadle", "search", query]
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    env |= {"TREADLE_HOME": str(tmp_path / "home"), "TREADLE_CONTEXT__EMBEDDER": embedder}
    options = ["--repo", str(repository)]
    with CodeIndex.open(repository, cache_dir=tmp_path / "home" / "cache") as index:
        index.refresh()
    # A file that changed less than two seconds before it was read is read again.
    with closing(sqlite3.connect(next((tmp_path / "home").rglob("repository-*.sqlite3")))) as db:
        db.execute("UPDATE files SET read_ns = read_ns + 60000000000")
        db.commit()
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True, env=env)
    assert "app.match_calls" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "treadle.code.retrieval.lexical" in loaded
    assert ("treadle.code.graph.edges" in loaded) is (query == "calls")
    assert NEEDLESS & loaded == set()


OPTIONAL = {
    "authlib", "genai_prices", "grpc", "keyring", "nats", "numpy", "openai", "prometheus_client",
    "psycopg", "pydantic.v1.main", "rich", "textual", "tree_sitter", "xllamacpp",
}  # fmt: skip
"""Libraries that a server loads when a setting, a request or a changed file needs them."""


@pytest.mark.parametrize(("command", "most"), [("serve", 1400), ("mcp", 950)])
def test_a_server_starts_without_optional_libraries(
    tmp_path: Path, command: str, most: int
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / ".git").mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    env |= {"TREADLE_HOME": str(tmp_path / "home")}
    arguments = [sys.executable, "-X", "importtime", "-m", "treadle", command]
    options = ["--port", "0", "--json"] if command == "serve" else []
    with (
        (tmp_path / "imports").open("w", encoding="utf-8") as imports,
        subprocess.Popen(
            [*arguments, *options, "--repo", str(repository)], env=env, stderr=imports,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        if command == "mcp":
            process.stdin.write(json.dumps(INITIALIZE) + "\n")
            process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.kill()
    assert answer.get("type") == "ready" or answer["id"] == INITIALIZE["id"]
    lines = (tmp_path / "imports").read_text("utf-8").splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "treadle.app.application" in loaded
    assert OPTIONAL & loaded == set()
    assert len(loaded) <= most
