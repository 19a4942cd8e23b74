"""What an agent is: a Markdown file whose front matter is TOML and whose text is its prompt."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
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

EVERY_TOOL = "*"
"""In `external_tools`: whatever front ends run."""
FINAL = "final"
"""The tool that ends an agent's session with its answer."""
CALL = "call_"
"""A sub-agent is the tool `call_NAME`."""
LARGEST_FILE = 200_000
"""Bytes; a larger file is not a definition."""

_FENCES = ("+++", "---")
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Origin(StrEnum):
    """Whose an agent is."""

    PACKAGE = "package"
    USER = "user"
    REPOSITORY = "repository"


def _of_ours(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name == FINAL:
            raise ValueError("every agent has `final`; remove it")
        if name.startswith(CALL):
            called = name.removeprefix(CALL)
            raise ValueError(f"{name!r} is not a Treadle tool; name {called!r} in `agents`")
    return names


class AgentLimits(BaseModel):
    """When an agent has to end. The session's own limits also apply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: int = Field(12, ge=1, le=100)
    """Replies of the model."""
    tool_calls: int = Field(40, ge=1, le=1_000)
    seconds: float = Field(300, gt=0, le=3_600)
    tokens: int | None = Field(None, ge=1)
    cost: float | None = Field(None, gt=0)
    """US dollars."""


class Header(BaseModel):
    """The front matter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    description: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    """Its purpose, as shown to the agents that call it."""
    model: str | None = None
    """PROVIDER/MODEL; without one that of the settings."""
    tools: Annotated[tuple[ToolName, ...], AfterValidator(_of_ours)] = ()
    """Our own tools, by name."""
    external_tools: tuple[ToolName | Annotated[str, Field(pattern=r"^\*$")], ...] = ()
    """Tools that front ends run, by name, or `["*"]`."""
    agents: tuple[Name, ...] = ()
    """The agents that it may call."""
    limits: AgentLimits = AgentLimits()


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as its file defines it. `source` names the file."""

    header: Header
    prompt: str
    origin: Origin
    source: str

    @property
    def name(self) -> str:
        """What it is called."""
        return self.header.name


def parse_agent(text: str, *, origin: Origin, source: str) -> Agent:
    """The agent of a file. Raises ConfigError, which names the file and what is wrong in it."""
    matter, prompt = _parted(text.replace("\r\n", "\n"), source)
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


def _parted(text: str, source: str) -> tuple[str, str]:
    """The front matter and the prompt."""
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
    """Agents by name, none of which can come back to itself through those that it calls."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        """Raises ConfigError where one calls an agent that there is not, or calls in a circle."""
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
    """Who among those that an agent leads to cannot be run, and why; None where all can."""
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
