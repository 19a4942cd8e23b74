"""What can be set. The defaults here are the documented ones; an unknown key is an error."""

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue

from treadle.config.approval_rules import ApprovalRule
from treadle.config.gateway import GatewaySettings
from treadle.config.section import Joined, NeedsConsent, Section, UserOnly
from treadle.config.traces import TraceSettings


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be an address that starts with http:// or https://")
    _ = parts.port  # raises ValueError for an invalid port
    if parts.username is not None or parts.password is not None:
        raise ValueError("should hold no name or password; use api_key_env or api_key_keyring")
    return value


def _variable_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise ValueError("should be the name of an environment variable, not a key itself")
    return value


def _absolute(value: str) -> str:
    if not (value.startswith("~/") or Path(value).is_absolute()):
        raise ValueError("should be an absolute path or start with ~/")
    return value


def _rule(value: str) -> str:
    return str(ApprovalRule.parse(value))


Address = Annotated[str, AfterValidator(_address)]
VariableName = Annotated[str, AfterValidator(_variable_name)]
AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Rule = Annotated[str, AfterValidator(_rule)]
MAX_CHECK_SECONDS = 3600.0
"""The longest that a check may take."""

CheckParser = Literal[
    "auto", "pytest", "ruff", "mypy", "cargo", "go", "tsc", "eslint", "node", "lines", "none"
]


class ProviderSettings(Section):
    """One OpenAI-compatible endpoint."""

    base_url: Annotated[Address | None, NeedsConsent()] = None
    """Address up to and including the version, for example `http://127.0.0.1:8080/v1`."""
    api_key_env: Annotated[VariableName | None, NeedsConsent()] = None
    """Name of the environment variable that holds the key."""
    api_key_keyring: Annotated[str | None, NeedsConsent()] = None
    """Name of the entry in the system keyring (service `treadle`) that holds the key."""
    models: tuple[str, ...] = ()
    """Models to offer; empty asks the server."""
    preferences: Annotated[dict[str, JsonValue], NeedsConsent()] = Field(default_factory=dict)
    """Routing preferences, sent as `provider`: `order`, `only`, `ignore`, `max_price`, …"""
    send_preferences: Annotated[Literal["with_tools", "always"], NeedsConsent()] = "with_tools"
    """Whether preferences go along only with requests that offer tools, or with all."""
    tools_fallback: Literal["retry_once", "strict"] = "retry_once"
    """What to do when no endpoint supports tools: ask once more without them, or fail."""
    max_retries: int = Field(default=3, ge=0, le=20)
    """Further attempts after a failure that may pass."""
    idle_timeout: float = Field(default=60.0, gt=0)
    """Seconds without a data line before a stream counts as stalled."""
    connect_timeout: float = Field(default=10.0, gt=0)
    """Seconds to reach the server."""
    context_window: int | None = Field(default=None, ge=256)
    """Tokens of input and output together; unset takes the known window of the model."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Limit of one reply; unset leaves it to the provider."""
    empty_content: Literal["null", "empty"] = "null"
    """How a message that only calls tools sends its missing text."""
    echo_reasoning: bool = True
    """Whether reasoning is sent back to the model that made it."""
    call_ids: Literal["any", "plain", "nine"] = "any"
    """Ids of tool calls: `plain` is letters, digits, `_`, `-`; `nine` is nine letters or digits."""
    alternating_roles: bool = False
    """Whether the server requires that the roles user and assistant alternate."""


class ContextSettings(Section):
    """Context that is retrieved for each user message without being asked for."""

    automatic: Literal["off", "light", "full"] = "light"
    """How much is placed with each user message, within its own token budget."""
    embedder: Annotated[Literal["auto", "none", "static", "minilm", "openai"], NeedsConsent()] = (
        "auto"
    )
    """Who finds by meaning: `auto` is `static`; `minilm`, `openai` reorder; `openai` sends code."""
    embedding_model: Annotated[str | None, NeedsConsent()] = None
    """Provider name, a slash, then its model: who is asked by the embedder `openai`."""
    git_history: bool = True
    """Whether the code index reads which files git's last commits changed, and their messages."""


class ToolSettings(Section):
    """How tools are run."""

    timeout: float = Field(default=30.0, gt=0)
    """Seconds that a call may take unless its tool says otherwise."""
    background_timeout: float = Field(default=600.0, gt=0)
    """The same for tools that run in the background, such as a build."""
    max_concurrent: int = Field(default=8, ge=1, le=64)
    """Calls of one session that run at once."""
    max_background: int = Field(default=2, ge=1, le=16)
    """Background calls of one session that run at once, in addition to the others."""
    max_turns: int = Field(default=25, ge=1)
    """Model replies in one request session."""
    invalid_call_retries: int = Field(default=2, ge=0)
    """Replies in a row with only invalid calls before the session ends."""
    result_tokens: int = Field(default=16_000, ge=200)
    """Most tokens of one tool message; it bounds the budget of each call."""


class HistorySettings(Section):
    """What happens to a conversation that no longer fits into the model's window."""

    compaction: Literal["off", "summary"] = "off"
    """`off` leaves the oldest exchanges out; `summary` first asks the model to sum them up."""


class LimitSettings(Section):
    """When a request session ends although the model would go on. What is unset does not end it."""

    tool_calls: int | None = Field(default=None, ge=1)
    """Tool calls; after them the model is asked once more, without tools."""
    tokens: Annotated[int | None, NeedsConsent()] = Field(default=None, ge=1)
    """Tokens of all model requests, input and output; estimated if a reply does not report them."""
    cost: Annotated[float | None, NeedsConsent()] = Field(default=None, gt=0)
    """US dollars of all model requests; a reply whose cost is not known ends the session too."""
    unknown_price: Annotated[float | None, NeedsConsent()] = Field(default=None, ge=0)
    """US dollars for a million tokens of replies whose cost is not known, 0 for a free model."""
    seconds: float | None = Field(default=None, gt=0)
    """Seconds from the message on; what runs then is ended."""


class ApprovalSettings(Section):
    """Which tool calls are run, asked about or refused.

    A rule is `TOOL`, `TOOL path=GLOB` or `TOOL command=GLOB`. Refusing wins over asking, asking
    over allowing.
    """

    deny: Annotated[tuple[Rule, ...], Joined()] = ()
    """Calls that are refused. All files add to it."""
    ask: Annotated[tuple[Rule, ...], Joined()] = ()
    """Calls that a person is asked about. All files add to it."""
    allow: Annotated[tuple[Rule, ...], UserOnly()] = ()
    """Calls that are run without a question; never taken from a repository."""


class EditSettings(Section):
    """How changes that a model proposes reach your files."""

    auto_approve: Annotated[tuple[str, ...], UserOnly()] = ()
    """Patterns, as in .gitignore, of files that may be changed without asking."""
    syntax_errors: Literal["report", "refuse"] = "report"
    """What happens to a change after which a file has new syntax errors."""


class CheckCommand(Section):
    """A check of your own; without a command, the time limit of the found check of that name."""

    command: Annotated[tuple[str, ...], NeedsConsent()] = ()
    """The program and its arguments, one text each; no shell reads them."""
    kind: Literal["test", "build", "lint", "types"] = "test"
    """What it contains."""
    parser: CheckParser = "auto"
    """How its output is read; `auto` goes by the program."""
    paths: bool = False
    """Whether paths may be put behind the command, to check only those."""
    timeout: float | None = Field(default=None, gt=0, le=MAX_CHECK_SECONDS)
    """Seconds that it may take; unset takes `checks.timeout`."""


class CheckSettings(Section):
    """Tests, builds and linters that a model may run, one at a time and by name."""

    timeout: float = Field(default=600.0, gt=0, le=MAX_CHECK_SECONDS)
    """Seconds that a check may take unless its own table says otherwise."""
    keep_keys: Annotated[tuple[VariableName, ...], UserOnly()] = ()
    """Environment variables that checks get although they look like keys or passwords."""
    commands: dict[str, CheckCommand] = Field(default_factory=dict)
    """Checks by name, in addition to those found in the project."""


class LogSettings(Section):
    """The log in your data folder: one line for each step, without contents."""

    level: Literal["off", "warning", "info"] = "warning"
    """What is written: nothing, what failed, or every step."""
    format: Literal["json", "text"] = "json"
    """A JSON object on each line, or words with key=value behind them."""
    file_bytes: int = Field(default=5_000_000, ge=10_000, le=1_000_000_000)
    """Size at which a new file is begun; three are kept."""


class Settings(Section):
    """All settings."""

    model: str | None = None
    """Provider name, a slash, then that provider's own model id."""
    fallback_models: Annotated[tuple[str, ...], NeedsConsent()] = ()
    """Models to ask instead, in this order, when the one in use fails for good."""
    trusted_roots: Annotated[tuple[AbsolutePath, ...], NeedsConsent()] = ()
    """Repositories whose own configuration may set what needs consent, by absolute path."""
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    """Endpoints by name."""
    context: ContextSettings = Field(default_factory=ContextSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    history: HistorySettings = Field(default_factory=HistorySettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    approvals: ApprovalSettings = Field(default_factory=ApprovalSettings)
    edits: EditSettings = Field(default_factory=EditSettings)
    checks: CheckSettings = Field(default_factory=CheckSettings)
    logs: LogSettings = Field(default_factory=LogSettings)
    traces: TraceSettings = Field(default_factory=TraceSettings)
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
