"""Builds the tools of Treadle: tools for the code, and tools for records, experiments and pages."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.app.code_index import open_index
from treadle.app.stores import Stores
from treadle.errors import StoreError
from treadle.paths import user_cache_dir

if TYPE_CHECKING:
    from treadle.code import CodeIndex
    from treadle.commands.service import Commands
    from treadle.config.model import Settings
    from treadle.edits.service import Edits
    from treadle.experiments.service import Experiments
    from treadle.llm.chat_model import ChatModel
    from treadle.toolbox.traces import TraceReader
    from treadle.tools.contract import AnyTool, Registry
    from treadle.ui.service import Ui


def code_registry(
    root: Path, index: "CodeIndex", edits: "Edits | None", settings: "Settings"
) -> "Registry":
    """Build the tools that read or change the repository, and the tool for a plan of the work.

    Without `edits`, none of the tools changes files.
    """
    from treadle.checks.service import Checks
    from treadle.toolbox.checks.run_check import RunCheck
    from treadle.toolbox.code import code_tools
    from treadle.toolbox.edits import edit_tools
    from treadle.toolbox.plan.update_plan import UpdatePlan
    from treadle.toolbox.sub_tasks.ask_code import AskCode
    from treadle.tools.contract import Registry

    changing = edit_tools(edits, index, settings.edits) if edits is not None else []
    preview = partial(preview_proposal, edits) if edits is not None else None
    checks = Checks(root, settings, os.environ, preview=preview)
    return Registry(
        [*code_tools(root, index), *changing, RunCheck(checks), UpdatePlan(), AskCode()]
    )


def open_commands(root: Path, settings: "Settings", env: Mapping[str, str]) -> "Commands | None":
    """Create the runner of shell commands, or return None if the settings disable it.

    The caller closes it.
    """
    from treadle.commands.service import Commands

    if not settings.commands.enabled:
        return None
    return Commands(root, settings, env, user_cache_dir() / "commands")


def preview_proposal(edits: "Edits", reference: str) -> Mapping[str, bytes | None]:
    """Return the contents that the files would have after a proposal.

    `reference` is the id of the proposal or a prefix of the id. The value of a deleted file is
    None.
    """
    return edits.preview(edits.find(reference).id)


def analyst_tools(
    traces: "TraceReader", experiments: "Experiments", ui: "Ui", settings: "Settings"
) -> "list[AnyTool]":
    """Build the tools that read `traces`, run experiments, and control the pages of `ui`."""
    from treadle.diagnosis.detectors import Rule
    from treadle.toolbox.experiments import experiment_tools
    from treadle.toolbox.traces import trace_tools
    from treadle.toolbox.ui import ui_tools

    async def connect() -> "ChatModel":
        # Imported here, since it loads a client library, which takes seconds.
        from treadle.llm import connect_with_fallbacks

        return await connect_with_fallbacks(settings, os.environ)

    rules = [Rule.of(rule) for rule in settings.traces.detectors.rules]
    return [
        *trace_tools(traces, rules=rules, connect=connect),
        *experiment_tools(experiments, ui),
        *ui_tools(ui, traces),
    ]


def listed_registry(root: Path) -> "Registry":
    """Build all tools for a list. They cannot be called. Raises StoreError and ConfigError."""
    from treadle.config.loader import load
    from treadle.toolbox.commands import command_tools

    settings = load(root, os.environ, {}).settings
    closed = unavailable("These tools can be listed but not called.")
    with open_index(root) as index, Stores.of_user().open_edits(root) as edits:
        registry = code_registry(root, index, edits, settings)
        if (commands := open_commands(root, settings, os.environ)) is not None:
            registry = registry.with_tools(command_tools(commands))
        return registry.with_tools(analyst_tools(closed, closed, closed, settings))


def unavailable(reason: str) -> Any:
    """Return a substitute for a store that cannot be opened. Every access raises StoreError."""
    return _Unavailable(reason)


class _Unavailable:
    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> object:
        raise StoreError(self._why, hint="`treadle doctor` reports details.")
