"""Checks everything that Treadle depends on, and reports how to fix a failure."""

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from treadle import __version__
from treadle.app.code_index import open_index
from treadle.app.project_databases import project_databases
from treadle.app.stores import Stores, log_path
from treadle.config.loader import config_paths, load
from treadle.config.quantities import age_us
from treadle.database import PostgresAddress
from treadle.database.sqlite import SqliteDatabase
from treadle.errors import TreadleError
from treadle.owner_only import private_folder
from treadle.paths import user_cache_dir, user_data_dir

if TYPE_CHECKING:
    from treadle.llm import ProviderModels


_RETENTION_GRACE_US = 3 * 3_600_000_000
"""Retention runs every hour, and a run can take longer."""


class Verdict(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, its details, and how to fix a failure."""

    name: str
    verdict: Verdict
    detail: str
    hint: str | None = None


async def examine(root: Path, env: Mapping[str, str]) -> list[Finding]:
    """Run all checks. Each check returns one finding, except the check of models.

    This check returns one finding for each provider. The checks change nothing except the index of
    `root`, which they update.
    """
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", _python),
        ("sqlite", _sqlite),
        ("git", _git),
        ("grammars", _grammars),
        ("parsing", _parsing),
        ("commands", _commands),
        ("cache folder", lambda: _writable("cache folder", user_cache_dir())),
        ("data folder", lambda: _writable("data folder", user_data_dir())),
        ("configuration", lambda: _configuration(root, env)),
        ("index", lambda: _index(root)),
        ("records", _records),
        ("retention", lambda: _retention(root, env)),
    ]
    if Stores.of_user().url is not None:
        checks.insert(-2, ("store", _store))
    findings = [_guarded(name, check) for name, check in checks]
    return findings + await _providers(root, env) + await _mcp_servers(root, env)


def _guarded(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except TreadleError as error:
        return Finding(name, Verdict.FAILED, error.message, error.hint)
    except Exception as error:  # noqa: BLE001  (a check that breaks is a finding)
        return Finding(name, Verdict.FAILED, f"{type(error).__name__}: {error}")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", Verdict.OK, f"Python {version}, Treadle {__version__}")


def _sqlite() -> Finding:
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "check.db")
        mode = database.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        database.close()
    if mode != "wal":
        return Finding("sqlite", Verdict.FAILED, f"SQLite {sqlite3.sqlite_version} has no WAL mode")
    return Finding("sqlite", Verdict.OK, f"SQLite {sqlite3.sqlite_version} with WAL")


def _git() -> Finding:
    found = shutil.which("git")
    if found:
        return Finding("git", Verdict.OK, found)
    return Finding("git", Verdict.WARNING, "no git command on PATH; Treadle works without it")


def _grammars() -> Finding:
    from treadle.code.languages import LANGUAGES

    broken = []
    for language in LANGUAGES:
        try:
            language.parser()
        except Exception as error:  # noqa: BLE001  (any failure of a native wheel is the finding)
            broken.append(f"{language.name} ({error})")
    if broken:
        hint = "Install Treadle again: a grammar wheel is missing or does not match this machine."
        return Finding("grammars", Verdict.FAILED, ", ".join(broken), hint)
    return Finding("grammars", Verdict.OK, ", ".join(language.name for language in LANGUAGES))


def _commands() -> Finding:
    if shutil.which("bash") is None:
        return Finding("commands", Verdict.OK, "no bash on PATH, so a model cannot run commands")
    detail = "a model's commands run in bash after approval, with your rights and without a sandbox"
    return Finding("commands", Verdict.OK, detail)


def _parsing() -> Finding:
    from treadle.code.sandbox.confinement import means
    from treadle.code.sandbox.workers import call_apart

    try:
        found = call_apart(means)
    except OSError as error:
        hint = (
            "Treadle parses files in its own process; a file that crashes the parser ends Treadle."
        )
        return Finding("parsing", Verdict.WARNING, f"no process can be started: {error}", hint)
    limits = "in processes with limits on time and memory"
    confined = f"confined by {' and '.join(found)}" if found else "not confined on this system"
    return Finding("parsing", Verdict.OK, f"{limits}, {confined}")


def _writable(name: str, folder: Path) -> Finding:
    try:
        private_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        hint = "Set TREADLE_HOME to a writable folder."
        return Finding(name, Verdict.FAILED, f"{folder}: {error.strerror}", hint)
    return Finding(name, Verdict.OK, str(folder))


def _configuration(root: Path, env: Mapping[str, str]) -> Finding:
    loaded = load(root, env, {})
    files = [str(path) for path in config_paths(root) if path.exists()]
    detail = ", ".join(files) or "defaults only"
    if loaded.warnings:
        return Finding("configuration", Verdict.WARNING, detail, " ".join(loaded.warnings))
    return Finding("configuration", Verdict.OK, detail)


def _index(root: Path) -> Finding:
    index = open_index(root)
    try:
        report = index.refresh()
        status = index.status()
    finally:
        index.close()
    detail = f"{root}: {status.files:,} files, {status.items:,} items"
    if not status.files:
        hint = "Treadle cannot index this folder; pass another one with --repo."
        return Finding("index", Verdict.WARNING, detail, hint)
    return Finding("index", Verdict.OK, f"{detail}, {len(report.skipped)} left out")


def _store() -> Finding:
    """Report the PostgreSQL server of the stores, and whether it separates the projects."""
    from treadle.database.postgres_server import server_facts

    stores = Stores.of_user()
    address = stores.traces
    assert isinstance(address, PostgresAddress)
    facts = server_facts(address)
    detail = (
        f"PostgreSQL {facts.version} at {stores.name}, user {facts.user},"
        f" {facts.round_trip_ms:.1f} ms for a round trip"
    )
    if not facts.protects:
        hint = (
            "Use a user that is neither a superuser nor has BYPASSRLS; otherwise only Treadle's own"
            " queries separate the projects."
        )
        return Finding(
            "store",
            Verdict.WARNING,
            f"{detail}; row-level security does not apply to this user",
            hint,
        )
    return Finding("store", Verdict.OK, f"{detail}, row-level security separates the projects")


def _records() -> Finding:
    """Check the databases for damage, and report their sizes and the size of the log.

    The check reads each database completely and changes nothing.
    """
    databases = project_databases(Stores.of_user())
    damaged = [
        f"{database.name}: {reason}"
        for database in databases
        if (reason := database.examine()) is not None
    ]
    if damaged:
        hint: str | None = (
            "Move the file and its -wal and -shm files away; Treadle then creates a new one. "
            "`sqlite3 FILE .recover` recovers the readable data."
        )
        if Stores.of_user().url is not None:
            hint = "`treadle store check` lists all stores."
        return Finding("records", Verdict.FAILED, "; ".join(damaged), hint)
    if Stores.of_user().url is not None:
        versions = [f"{each.schema.records} {each.stored_version()}" for each in databases]
        return Finding("records", Verdict.OK, f"versions: {', '.join(versions)}; {log_path()}")
    files = [database.path for database in databases if isinstance(database, SqliteDatabase)]
    paths = (*files[:3], log_path())
    sizes = [
        f"{p} ({p.stat().st_size / 1e6:.1f} MB)" if p.exists() else f"{p} (none yet)" for p in paths
    ]
    return Finding("records", Verdict.OK, ", ".join(sizes))


def _retention(root: Path, env: Mapping[str, str]) -> Finding:
    """Report the limits of traces, and the traces that should have been deleted by now."""
    settings = load(root, env, {}).settings.traces
    keep, max_size = settings.keep, settings.max_size
    limits = [f"keep {keep}"] if keep else []
    limits += [f"max_size {max_size}"] if max_size else []
    if not limits:
        return Finding("retention", Verdict.OK, "no limit; all traces are kept")
    detail = ", ".join(limits)
    traces = project_databases(Stores.of_user())[0]
    if keep is None or traces.stored_version() != traces.schema.version:
        return Finding("retention", Verdict.OK, detail)
    before = time.time_ns() // 1_000 - age_us(keep) - _RETENTION_GRACE_US
    with closing(Stores.of_user().open_traces()) as store:
        due = store.preview_prune(before_us=before, max_bytes=None)
    if not due.traces:
        return Finding("retention", Verdict.OK, f"{detail}; no trace is too old")
    hint = "A running server deletes them every hour, and `treadle traces prune` does at once."
    detail = f"{detail}; {due.traces:,} traces with {due.spans:,} spans are too old"
    return Finding("retention", Verdict.WARNING, detail, hint)


async def _providers(root: Path, env: Mapping[str, str]) -> list[Finding]:
    from treadle.llm import list_models
    from treadle.llm.embedded import INSTALL

    try:
        settings = load(root, env, {}).settings
    except TreadleError:
        return []  # the check of the configuration already reports the error
    found = await list_models(settings, env)
    findings = [_provider(provider) for provider in found]
    if not any(provider.reachable for provider in found):
        findings.append(
            Finding(
                "model",
                Verdict.FAILED,
                "no hosted model, local server or embedded model is available",
                "Set OPENAI_API_KEY or OPENROUTER_API_KEY, start a local server, or install the "
                f"embedded model: {INSTALL}",
            )
        )
    return findings


async def _mcp_servers(root: Path, env: Mapping[str, str]) -> list[Finding]:
    """Start each MCP server, and report its state and the tools that are left out."""
    from treadle.app.mcp_servers import examined_servers
    from treadle.mcp_client.server import ServerState

    try:
        settings = load(root, env, {}).settings
    except TreadleError:
        return []  # the check of the configuration already reports the error
    servers = await examined_servers(root, settings, env, Stores.of_user())
    findings = [Finding("mcp", Verdict.OK, text) for text in servers.unused]
    for status in servers.statuses():
        is_ready = status.state is ServerState.READY and not status.problems
        detail = f"{status.tools} tools over {status.transport}"
        if status.state is not ServerState.READY:
            detail = status.reason or "it did not start in time"
        findings.append(
            Finding(
                f"mcp {status.name}",
                Verdict.OK if is_ready else Verdict.WARNING,
                " ".join((detail, *status.problems)),
                None if is_ready else f"Check [mcp.servers.{status.name}].",
            )
        )
    return findings


def _provider(provider: "ProviderModels") -> Finding:
    name = f"provider {provider.provider}"
    if not provider.reachable:
        return Finding(name, Verdict.WARNING, provider.error or "not reachable")
    where = f" at {provider.base_url}" if provider.base_url else ""
    count = len(provider.models)
    return Finding(name, Verdict.OK, f"{count} model{'s' * (count != 1)}{where}")
