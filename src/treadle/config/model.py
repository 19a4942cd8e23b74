"""The settings with their descriptions and defaults. An unknown key is an error."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, PrivateAttr, field_validator

from treadle.config.approval_rules import ApprovalRule
from treadle.config.commands import CommandSettings
from treadle.config.gateway import GatewaySettings
from treadle.config.instructions import InstructionSettings
from treadle.config.mcp import McpSettings
from treadle.config.section import Joined, NeedsConsent, Section, ServerWide, Size, UserOnly
from treadle.config.sub_tasks import SubTaskSettings
from treadle.config.traces import TraceSettings
from treadle.paths import user_config_dir


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be an address that starts with http:// or https://")
    _ = parts.port  # raises ValueError for an invalid port
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "should not contain a name or password; use api_key_env or api_key_keyring"
        )
    return value


_HOST = re.compile(r"(?:\[[^]]*\]|[^:]*)(?::[0-9]{0,5})?")
"""A host and its port. A host may be empty, since PostgreSQL has a default one."""


def _bus_address(value: str) -> str:
    for address in value.split(","):
        _check_credentials(address.strip(), "/?#")
        parts = urlsplit(address.strip())
        if parts.scheme not in ("nats", "tls") or not parts.hostname:
            raise ValueError("should be an address that starts with nats:// or tls://")
    return value


def _check_credentials(address: str, ends: str) -> None:
    """Raise ValueError if a character of the password ends the part with the credentials.

    A library that takes the rest of a password for a host or a port can show it in an error. So
    the text of the ValueError contains no part of the address. One of the characters in `ends`
    ends the host and the port.
    """
    _, _, rest = address.partition("://")
    authority = re.split(f"[{ends}]", rest, maxsplit=1)[0]
    credentials, _, hosts = authority.rpartition("@")
    is_encoded = re.fullmatch(r"(?:[^%@]|%[0-9A-Fa-f]{2})*", credentials)
    if not is_encoded or not all(map(_HOST.fullmatch, re.split(r"[/?#]", hosts)[0].split(","))):
        raise ValueError(
            "has an invalid port, or a password with special characters: write @ as %40, / as %2F,"
            " : as %3A, # as %23, ? as %3F and % as %25"
        )


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
BusAddress = Annotated[str, AfterValidator(_bus_address)]
VariableName = Annotated[str, AfterValidator(_variable_name)]
AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Rule = Annotated[str, AfterValidator(_rule)]
MAX_CHECK_SECONDS = 3600.0
"""The maximum timeout of a check, in seconds."""

CheckParser = Literal[
    "auto", "pytest", "ruff", "mypy", "cargo", "go", "tsc", "eslint", "node", "lines", "none"
]


NativeApi = Literal["anthropic", "gemini"]


def _public_address(value: str) -> str:
    parts = urlsplit(_address(value))
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("should have no path, such as https://treadle.example.com")
    return value.rstrip("/")


PublicAddress = Annotated[str, AfterValidator(_public_address)]


class ServerSettings(Section):
    """The server that `treadle serve` starts for other people and machines."""

    address: Annotated[PublicAddress | None, UserOnly()] = None
    """Address at which browsers reach the server, such as `https://treadle.example.com`."""
    drain_notice: Annotated[float, UserOnly()] = Field(default=0.0, ge=0, le=600)
    """Seconds after SIGTERM in which it accepts connections, so that a load balancer notices."""
    open_projects: Annotated[int, UserOnly()] = Field(default=50, ge=2, le=10_000)
    """Maximum number of projects that are open at once. Idle projects are closed first."""
    drain_limit: Annotated[float, UserOnly()] = Field(default=30.0, ge=0, le=3600)
    """Seconds after SIGTERM until running turns and requests are cancelled."""


def _issuer(value: str) -> str:
    host = urlsplit(value).hostname
    if not value.startswith("https://") and host not in {"127.0.0.1", "localhost", "::1"}:
        raise ValueError("should begin with https://, because it decides who may sign in")
    return value


Issuer = Annotated[str, AfterValidator(_issuer)]


class OidcSettings(Section):
    """The OpenID Connect provider with which invited people sign in."""

    issuer: Annotated[Issuer | None, UserOnly()] = None
    """Address of the provider. If unset, people sign in with invitation links only."""
    client_id: Annotated[str, UserOnly()] = "treadle"
    """Name of this server at the provider."""
    client_secret_env: Annotated[VariableName | None, UserOnly()] = None
    """Name of the environment variable with the client secret. A public client needs none."""
    label: Annotated[str, UserOnly()] = "your organisation"
    """Name of the provider on the button of the sign-in page."""


class ProviderSettings(Section):
    """One OpenAI-compatible endpoint."""

    base_url: Annotated[Address | None, NeedsConsent()] = None
    """Address up to and including the version, for example `http://127.0.0.1:8080/v1`."""
    native_api: Annotated[NativeApi | None, NeedsConsent()] = None
    """API that the server offers in addition to OpenAI's. The gateway forwards its calls there."""
    api_key_env: Annotated[VariableName | None, NeedsConsent()] = None
    """Name of the environment variable that holds the API key."""
    api_key_keyring: Annotated[str | None, NeedsConsent()] = None
    """Name of the entry in the system keyring (service `treadle`) that holds the API key."""
    models: tuple[str, ...] = ()
    """Models to offer. If the list is empty, the models that the server lists are offered."""
    preferences: Annotated[dict[str, JsonValue], NeedsConsent()] = Field(default_factory=dict)
    """Routing preferences, sent as field `provider`: `order`, `only`, `ignore`, `max_price`, …"""
    send_preferences: Annotated[Literal["with_tools", "always"], NeedsConsent()] = "with_tools"
    """Whether preferences are sent only with requests that offer tools, or with all requests."""
    tools_fallback: Literal["retry_once", "strict"] = "retry_once"
    """What to do when no endpoint supports tools: retry once without tools, or fail."""
    max_retries: int = Field(default=3, ge=0, le=20)
    """Maximum number of retries after a transient failure."""
    idle_timeout: float = Field(default=60.0, gt=0)
    """Seconds without a data line after which a stream counts as stalled."""
    connect_timeout: float = Field(default=10.0, gt=0)
    """Timeout of a connection attempt, in seconds."""
    context_window: int | None = Field(default=None, ge=256)
    """Maximum tokens of input and output together. If unset, the model's known window applies."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of one reply. If unset, the provider's limit applies."""
    empty_content: Literal["null", "empty"] = "null"
    """What is sent as the text of a message that only calls tools: `null` or an empty string."""
    echo_reasoning: bool = True
    """Whether a model gets back the reasoning of its earlier replies."""
    call_ids: Literal["any", "plain", "nine"] = "any"
    """Tool call ids: `plain` is letters, digits, `_` and `-`; `nine` is nine letters or digits."""
    alternating_roles: bool = False
    """Whether the server requires that the roles user and assistant alternate."""


class ContextSettings(Section):
    """Context that Treadle retrieves automatically for each user message."""

    automatic: Literal["off", "light", "full"] = "light"
    """How much context each user message gets. The context has its own token budget."""
    embedder: Annotated[Literal["auto", "none", "static"], NeedsConsent(), ServerWide()] = "auto"
    """Embedding that search uses. `auto` means `static`, the embedding that ships with Treadle."""
    git_history: Annotated[bool, ServerWide()] = True
    """Whether the code index reads the messages and changed files of recent git commits."""

    @field_validator("embedder", mode="before")
    @classmethod
    def _is_available(cls, value: object) -> object:
        if value in ("minilm", "openai"):
            raise ValueError(f'no longer accepts "{value}"; use "auto"')
        return value


class ToolSettings(Section):
    """How tools are run."""

    timeout: float = Field(default=30.0, gt=0)
    """Timeout of a tool call in seconds, unless the tool sets its own timeout."""
    background_timeout: float = Field(default=600.0, gt=0)
    """Timeout of a background tool call, such as a build, in seconds."""
    max_concurrent: int = Field(default=8, ge=1, le=64)
    """Maximum number of concurrent tool calls in one session."""
    max_background: int = Field(default=2, ge=1, le=16)
    """Maximum number of concurrent background calls in one session, on top of `max_concurrent`."""
    max_turns: int = Field(default=25, ge=1)
    """Maximum number of model replies in one request session."""
    invalid_call_retries: int = Field(default=2, ge=0)
    """Maximum number of consecutive replies with only invalid calls. One more ends the session."""
    result_tokens: int = Field(default=16_000, ge=200)
    """Maximum tokens of one tool message. A call cannot request a larger token budget."""


class HistorySettings(Section):
    """How a conversation is shortened when it no longer fits into the model's context window."""

    compaction: Literal["off", "summary"] = "off"
    """`off` omits the oldest exchanges. `summary` replaces them with a summary by the model."""


class LimitSettings(Section):
    """Limits that end a request session early. An unset limit does not apply."""

    tool_calls: int | None = Field(default=None, ge=1)
    """Maximum number of tool calls. At the limit, the model answers once more, without tools."""
    tokens: Annotated[int | None, NeedsConsent()] = Field(default=None, ge=1)
    """Maximum input and output tokens of all model requests. Unreported tokens are estimated."""
    cost: Annotated[float | None, NeedsConsent()] = Field(default=None, gt=0)
    """Maximum US dollars of all model requests. A reply of unknown cost also ends the session."""
    unknown_price: Annotated[float | None, NeedsConsent()] = Field(default=None, ge=0)
    """US dollars per million tokens for replies of unknown cost. Use 0 for a free model."""
    seconds: float | None = Field(default=None, gt=0)
    """Maximum seconds after the user's message. At the limit, work that still runs is cancelled."""


class ApprovalSettings(Section):
    """Which tool calls run, need approval or are refused.

    A rule is `TOOL`, `TOOL path=GLOB` or `TOOL command=GLOB`. A `deny` rule overrides
    `ask`, and `ask` overrides `allow`.
    """

    deny: Annotated[tuple[Rule, ...], Joined()] = ()
    """Calls that are refused. The lists of all files are combined."""
    ask: Annotated[tuple[Rule, ...], Joined()] = ()
    """Calls that need a person's approval. The lists of all files are combined."""
    allow: Annotated[tuple[Rule, ...], UserOnly()] = ()
    """Calls that run without approval. A repository cannot set this list."""


class EditSettings(Section):
    """How edits that a model proposes are applied to your files."""

    auto_approve: Annotated[tuple[str, ...], UserOnly()] = ()
    """Patterns, as in .gitignore, of files that may be edited without approval."""
    syntax_errors: Literal["report", "refuse"] = "report"
    """Whether an edit that introduces syntax errors is only reported, or refused."""


class CheckCommand(Section):
    """Your own check. Without `command`, the table only sets the timeout of a detected check."""

    command: Annotated[tuple[str, ...], NeedsConsent()] = ()
    """The program and its arguments as separate strings. They are not passed to a shell."""
    kind: Literal["test", "build", "lint", "types"] = "test"
    """Type of the check."""
    parser: CheckParser = "auto"
    """Parser of the output. `auto` selects the parser by the program."""
    paths: bool = False
    """Whether paths may be appended to the command, so that only these paths are checked."""
    timeout: float | None = Field(default=None, gt=0, le=MAX_CHECK_SECONDS)
    """Timeout in seconds. If unset, `checks.timeout` applies."""


class CheckSettings(Section):
    """Tests, builds and linters that a model may run by name, one at a time."""

    timeout: float = Field(default=600.0, gt=0, le=MAX_CHECK_SECONDS)
    """Timeout of a check in seconds, unless the table of the check sets another timeout."""
    keep_keys: Annotated[tuple[VariableName, ...], UserOnly()] = ()
    """Environment variables that are passed to checks although they look like keys or passwords."""
    commands: dict[str, CheckCommand] = Field(default_factory=dict)
    """Checks by name, in addition to the checks that are detected in the project."""


class LogSettings(Section):
    """The log in your data folder: one line for each step, without the content of messages."""

    level: Literal["off", "warning", "info"] = "warning"
    """What is logged: nothing, failures, or every step."""
    format: Literal["json", "text"] = "json"
    """Format of a line: a JSON object, or text with key=value pairs."""
    file_bytes: int = Field(default=5_000_000, ge=10_000, le=1_000_000_000)
    """Size in bytes at which a new file is started. Three files are kept."""


class TerminalSettings(Section):
    """The interactive terminal, `treadle chat`."""

    keys: Literal["default", "vim", "emacs"] = "default"
    """Key bindings of the prompt and of lists."""
    theme: Literal["dark", "light", "high-contrast", "ansi"] = "dark"
    """Colours. `ansi` uses the 16 colours and the background of your terminal."""
    reduced_motion: bool = False
    """Whether nothing moves by itself: no animations, and no counting seconds."""
    bell: bool = False
    """Whether the bell sounds when a turn ends or needs your approval."""
    notify: bool = False
    """Whether a notification appears when `bell` would ring. The terminal needs OSC 9 or 777."""
    notify_after: float = Field(default=10.0, ge=0)
    """Seconds before a turn causes a bell or a notification, or less if you switched windows."""


StreamReplicas = Literal[1, 3, 5]
"""An even number would not survive the loss of more nodes than the odd number below it."""


class BusSettings(Section):
    """The NATS servers that connect the servers and workers of a team."""

    url: Annotated[BusAddress | None, UserOnly()] = Field(default=None, repr=False)
    """Addresses such as `nats://USER:PASSWORD@HOST:4222`, separated by commas."""
    ingest: Annotated[bool, UserOnly()] = False
    """Whether NATS keeps received spans until a server writes them to the store."""
    ingest_limit: Annotated[Size, UserOnly()] = "1GB"
    """Maximum size of the spans that wait in NATS. If they reach it, exporters must try later."""
    stream_replicas: Annotated[StreamReplicas, UserOnly()] = 1
    """Number of nodes of a NATS cluster that store each stream."""


_POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def _postgres_url(value: str) -> str:
    if not value.startswith(_POSTGRES_SCHEMES):
        raise ValueError("should be the address of a PostgreSQL database, postgresql://HOST/NAME")
    _check_credentials(value, "/")  # a client of PostgreSQL accepts # and ? in a password
    return value


PostgresUrl = Annotated[str, AfterValidator(_postgres_url)]


class StoreSettings(Section):
    """The place of the stores: traces, conversations, proposals, experiments and approvals."""

    url: Annotated[PostgresUrl | None, UserOnly()] = Field(default=None, repr=False)
    """Address of a PostgreSQL database. If unset, SQLite files in your data folder are used."""


class WorkerSettings(Section):
    """Which tool calls of `treadle serve` go to [workers](workers.md), if `bus.url` is set."""

    tools: Annotated[tuple[str, ...], UserOnly()] = ()
    """Tools whose calls go to workers, in addition to background tools such as `run_check`."""
    any_commit: Annotated[tuple[str, ...], UserOnly()] = ()
    """Tools whose calls may run at another commit, or without your uncommitted changes."""


class Settings(Section):
    """All settings."""

    model: str | None = None
    """Model to use: the provider name, a slash, and the provider's own model id."""
    fallback_models: Annotated[tuple[str, ...], NeedsConsent()] = ()
    """Models to try in this order after the model in use fails permanently."""
    trusted_roots: Annotated[tuple[AbsolutePath, ...], NeedsConsent()] = ()
    """Absolute paths of repositories whose configuration may set settings that need consent."""
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    """OpenAI-compatible endpoints by name."""
    context: ContextSettings = Field(default_factory=ContextSettings)
    instructions: InstructionSettings = Field(default_factory=InstructionSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    sub_tasks: SubTaskSettings = Field(default_factory=SubTaskSettings)
    history: HistorySettings = Field(default_factory=HistorySettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    approvals: ApprovalSettings = Field(default_factory=ApprovalSettings)
    edits: EditSettings = Field(default_factory=EditSettings)
    checks: CheckSettings = Field(default_factory=CheckSettings)
    commands: CommandSettings = Field(default_factory=CommandSettings)
    mcp: McpSettings = Field(default_factory=McpSettings)
    logs: LogSettings = Field(default_factory=LogSettings)
    traces: TraceSettings = Field(default_factory=TraceSettings)
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    oidc: OidcSettings = Field(default_factory=OidcSettings)
    server: ServerSettings = Field(default_factory=ServerSettings)
    bus: BusSettings = Field(default_factory=BusSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    workers: WorkerSettings = Field(default_factory=WorkerSettings)
    terminal: TerminalSettings = Field(default_factory=TerminalSettings)
    _project_folder: Path | None = PrivateAttr(None)
    _own_providers: frozenset[str] = PrivateAttr(frozenset())

    @property
    def project_folder(self) -> Path | None:
        """The folder of the project. It is None if these are the settings of the user."""
        return self._project_folder

    @property
    def folder(self) -> Path:
        """The folder of the settings file, saved keys and agents of the user or of the project."""
        return self._project_folder or user_config_dir()

    def of_project(self, folder: Path | None, own_providers: frozenset[str] = frozenset()) -> Self:
        """Return the same settings with the folder of a project. None means the user's folder.

        `own_providers` are the providers whose address or key comes from the project's file.
        """
        settings = self.model_copy()
        settings._project_folder = folder  # noqa: SLF001  (an object of this class)
        settings._own_providers = own_providers  # noqa: SLF001
        return settings

    def shares_account(self, provider: str) -> bool:
        """Whether other projects may use the same account at the provider.

        A key that was saved in the project is not considered.
        """
        return self._project_folder is not None and provider not in self._own_providers
