"""Reads the definitions of agents.

A definition is a Markdown file with TOML front matter and a prompt. The files are in Treadle's
package, in the configuration folder of the user, and in trusted repositories.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from treadle import toml
from treadle.errors import ConfigError
from treadle.inside import read_regular
from treadle.paths import user_config_dir

EVERY_TOOL = "*"
"""The value in `external_tools` that stands for all external tools."""
FINAL = "final"
"""The name of the tool with which an agent gives its answer and ends its session."""
CALL = "call_"
"""The prefix in the name of a tool that calls an agent.

The tool `call_NAME` calls the agent NAME.
"""
MAX_FILE_BYTES = 200_000
"""The maximum size of a definition in bytes."""
FOLDER = "agents"
"""The name of the folder with definitions.

It is in the configuration folder of the user, and in `.treadle` of a repository.
"""

_FENCES = ("+++", "---")
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Origin(StrEnum):
    """The source of an agent's definition."""

    PACKAGE = "package"
    USER = "user"
    REPOSITORY = "repository"


def _check_tool_names(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name == FINAL:
            raise ValueError("every agent has `final`; remove it")
        if name.startswith(CALL):
            agent = name.removeprefix(CALL)
            raise ValueError(f"{name!r} is not a Treadle tool; name {agent!r} in `agents`")
    return names


class AgentLimits(BaseModel):
    """The limits of an agent's session.

    If the settings have a lower limit for sessions, that limit applies.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: int = Field(12, ge=1, le=100)
    """The maximum number of replies of the model."""
    tool_calls: int = Field(40, ge=1, le=1_000)
    seconds: float = Field(300, gt=0, le=3_600)
    tokens: int | None = Field(None, ge=1)
    cost: float | None = Field(None, gt=0)
    """The maximum cost in US dollars."""


class Header(BaseModel):
    """The front matter of a definition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    description: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    """The purpose of the agent.

    Other agents read it in the description of the tool that calls the agent.
    """
    model: str | None = None
    """The model as PROVIDER/MODEL. None selects the model of the settings."""
    tools: Annotated[tuple[ToolName, ...], AfterValidator(_check_tool_names)] = ()
    """The names of the tools of Treadle that the agent may call."""
    external_tools: tuple[ToolName | Annotated[str, Field(pattern=r"^\*$")], ...] = ()
    """The names of the external tools that the agent may call, or `["*"]` for all external tools.
    """
    agents: tuple[Name, ...] = ()
    """The names of the agents that this agent may call."""
    limits: AgentLimits = AgentLimits()


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as a file defines it. `source` is the path of that file."""

    header: Header
    prompt: str
    origin: Origin
    source: str

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.header.name


def parse_agent(text: str, *, origin: Origin, source: str) -> Agent:
    """Parse the definition of an agent. Raises ConfigError for an invalid definition."""
    matter, prompt = _split(text.replace("\r\n", "\n"), source)
    try:
        header = Header.model_validate(toml.loads(matter))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{source}: the front matter is not valid TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"{source}: {where}: {first['msg']}.",
            hint=f"The settings are: {', '.join(Header.model_fields)}.",
        ) from error
    if not prompt.strip():
        raise ConfigError(
            f"{source}: the prompt is missing.", hint="Write it below the front matter."
        )
    return Agent(header, prompt.strip(), origin, source)


def _split(text: str, source: str) -> tuple[str, str]:
    """Split a definition into the front matter and the prompt."""
    fence = text.partition("\n")[0].strip()
    found = re.search(rf"^{re.escape(fence)}[ \t]*$", text[len(fence) :], re.MULTILINE)
    if fence not in _FENCES or found is None:
        raise ConfigError(
            f"{source}: the front matter is missing.",
            hint='Begin it with a line +++, then TOML such as name = "mine", then a line +++.',
        )
    begin = len(fence)
    return text[begin : begin + found.start()], text[begin + found.end() :]


class Agents(Mapping[str, Agent]):
    """Maps names to agents. No agent can call itself, directly or through other agents."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        """Create the mapping.

        Raises ConfigError if an agent may call an unknown agent, or may call itself through other
        agents.
        """
        self._agents = dict(agents)
        for agent in self._agents.values():
            if (problem := problem_of(agent, self._agents)) is not None:
                raise problem[1]

    def __getitem__(self, name: str) -> Agent:
        return self._agents[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)


def problem_of(
    agent: Agent, agents: Mapping[str, Agent], path: tuple[str, ...] = ()
) -> tuple[Agent, ConfigError] | None:
    """Find the first agent that cannot run, among `agent` and the agents that it calls.

    Returns that agent and the reason, or None if all of them can run. `path` has the names of the
    agents that lead to `agent`: each of them may call the next one.
    """
    if agent.name in path:
        circle = " → ".join((*path[path.index(agent.name) :], agent.name))
        return agent, ConfigError(
            f"{agent.source}: the agents call each other in a circle: {circle}.",
            hint="Remove one of these names from `agents`.",
        )
    for name in agent.header.agents:
        if name not in agents:
            return agent, ConfigError(
                f"{agent.source}: it calls the agent {name!r}, which does not exist.",
                hint=f"There are: {', '.join(sorted(agents))}.",
            )
        if (problem := problem_of(agents[name], agents, (*path, agent.name))) is not None:
            return problem
    return None


@dataclass(frozen=True, slots=True)
class FoundAgents:
    """The usable agents, and warnings about the ignored definitions."""

    agents: Agents
    warnings: tuple[str, ...]


def find_agents(root: Path, *, trusted: bool, own_folder: Path | None = None) -> FoundAgents:
    """Find the agents for the repository at `root`.

    `own_folder` is the folder of the user or of a project that contains the folder of agents. None
    means the user's folder. If definitions in several places have the same name, the one in the
    repository has precedence, then the one in `own_folder`, then the one in Treadle's package. A
    definition in a repository may come from a stranger, so it is read only if `trusted` is true. An
    invalid definition is ignored. The same applies to an agent that may call an unknown agent, or
    itself through other agents. If the package has an agent with the same name as such an agent,
    the package's agent is used.
    """
    packaged = {agent.name: agent for agent in packaged_agents()}
    warnings: list[str] = []
    agents = packaged | _read_folder(
        (own_folder or user_config_dir()) / FOLDER, Origin.USER, warnings
    )
    own = root / ".treadle" / FOLDER
    if trusted:
        agents |= _read_folder(own, Origin.REPOSITORY, warnings)
    elif ignored := sum(1 for _ in _files(own)):
        warnings.append(
            f"Ignored {ignored} agent{'s'[: ignored != 1]} in {own}: a repository cannot define "
            "agents without your consent. To allow it, add the repository to trusted_roots in "
            "your own configuration."
        )
    return FoundAgents(Agents(_usable(agents, warnings)), tuple(warnings))


def _usable(agents: dict[str, Agent], warnings: list[str]) -> dict[str, Agent]:
    """Return the agents that can run.

    An agent that cannot run is replaced by the agent with the same name in the package, or left out
    if there is none.
    """
    packaged = {agent.name: agent for agent in packaged_agents()}
    while problems := list(filter(None, (problem_of(each, agents) for each in agents.values()))):
        at_fault = {agent.name: str(error) for agent, error in problems}
        warnings.extend(f"Ignored an agent: {error}" for error in at_fault.values())
        agents = {
            name: packaged[name] if name in at_fault else agent
            for name, agent in agents.items()
            if name not in at_fault or name in packaged
        }
    return agents


def packaged_agents() -> tuple[Agent, ...]:
    """The agents that Treadle's package contains, ordered by the names of their files."""
    folder = files("treadle.agents") / "builtin"
    texts = sorted(
        (each.name, each.read_text("utf-8"))
        for each in folder.iterdir()
        if each.name.endswith(".md")
    )
    return tuple(
        parse_agent(text, origin=Origin.PACKAGE, source=f"treadle/agents/builtin/{name}")
        for name, text in texts
    )


def _read_folder(folder: Path, origin: Origin, warnings: list[str]) -> dict[str, Agent]:
    agents: dict[str, Agent] = {}
    for path in _files(folder):
        try:
            agent = parse_agent(_read(path), origin=origin, source=str(path))
        except ConfigError as error:
            warnings.append(f"Ignored an agent: {error}")
            continue
        if agent.name in agents:
            before = agents[agent.name].source
            warnings.append(f"Ignored {before}: {path} defines {agent.name!r} too.")
        agents[agent.name] = agent
    return agents


def _read(path: Path) -> str:
    try:
        data = read_regular(str(path), MAX_FILE_BYTES + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path} is too large for an agent definition.")
    return text


def _files(folder: Path) -> Iterator[Path]:
    """The Markdown files of a folder, without links to files outside the folder."""
    inside = folder.resolve()
    for path in sorted(folder.glob("*.md")):
        if path.is_file() and path.resolve().is_relative_to(inside):
            yield path
