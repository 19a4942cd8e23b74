"""Finds the agents: the package's, then the user's, then a trusted repository's."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from treadle.agents.definitions import (
    LARGEST_FILE,
    Agent,
    Agents,
    Origin,
    parse_agent,
    problem_of,
)
from treadle.errors import ConfigError
from treadle.inside import read_regular
from treadle.paths import user_config_dir

FOLDER = "agents"
"""Below the user's configuration folder, and below `.treadle` of a repository."""


@dataclass(frozen=True, slots=True)
class Found:
    """The agents, and what was passed over and why."""

    agents: Agents
    warnings: tuple[str, ...]


def find_agents(root: Path, *, trusted: bool) -> Found:
    """All agents for the repository at `root`; of one name, the last found is meant.

    Those in the repository's own folder come with a clone, from somebody else: they count only
    where the user trusts it. A file that is no definition is passed over, and so are agents that
    call each other in a circle, or one that there is not; where they took the place of one of the
    package's, that one is meant again.
    """
    packaged = {agent.name: agent for agent in packaged_agents()}
    warnings: list[str] = []
    agents = packaged | _in_folder(user_config_dir() / FOLDER, Origin.USER, warnings)
    own = root / ".treadle" / FOLDER
    if trusted:
        agents |= _in_folder(own, Origin.REPOSITORY, warnings)
    elif ignored := sum(1 for _ in _definitions(own)):
        warnings.append(
            f"Ignored {ignored} agent{'s'[: ignored != 1]} in {own}: a repository cannot define "
            "agents without your consent. To allow it, add the repository to trusted_roots in "
            "your own configuration."
        )
    return Found(Agents(_usable(agents, warnings)), tuple(warnings))


def _usable(agents: dict[str, Agent], warnings: list[str]) -> dict[str, Agent]:
    """Without the agents that cannot be run; in their place the package's of that name."""
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
    """The agents that come with Treadle, by name."""
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


def _in_folder(folder: Path, origin: Origin, warnings: list[str]) -> dict[str, Agent]:
    agents: dict[str, Agent] = {}
    for path in _definitions(folder):
        try:
            agent = parse_agent(_text(path), origin=origin, source=str(path))
        except ConfigError as error:
            warnings.append(f"Ignored an agent: {error}")
            continue
        if agent.name in agents:
            before = agents[agent.name].source
            warnings.append(f"Ignored {before}: {path} defines {agent.name!r} too.")
        agents[agent.name] = agent
    return agents


def _text(path: Path) -> str:
    try:
        data = read_regular(str(path), LARGEST_FILE + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}.") from error
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"{path} is too large for an agent definition.")
    return text


def _definitions(folder: Path) -> Iterator[Path]:
    """The Markdown files of a folder; a link that leaves it is none of them."""
    inside = folder.resolve()
    for path in sorted(folder.glob("*.md")):
        if path.is_file() and path.resolve().is_relative_to(inside):
            yield path
