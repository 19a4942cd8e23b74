"""The settings that the server read at its start, and the default model that results from them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.config.loader import LoadedConfig
from treadle.config.model import Settings
from treadle.errors import TreadleError
from treadle.llm import default_model, saved_keys
from treadle.llm.profiles import EMBEDDED

_MAX_AGE = 30.0
"""Seconds until the server determines the default model again.

The server does not search for the model at each request, because the search contacts local model
servers.
"""
_PATIENCE = 1.0
"""The maximum time in seconds that a request waits for the default model.

If the search takes longer, the page shows everything else without the model.
"""


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """The model that answers a request without a model name.

    `error` states why no model is available. All fields are None while the server looks for a
    model.
    """

    provider: str | None = None
    model: str | None = None
    error: str | None = None

    @property
    def embedded(self) -> bool:
        """Whether this is the embedded model that Treadle contains for demonstrations."""
        return self.provider == EMBEDDED


class Configuration:
    """The settings that the server read at its start, and the search for its default model."""

    def __init__(self, root: Path, loaded: LoadedConfig, env: Mapping[str, str]) -> None:
        self.root = root
        self.loaded = loaded
        self.env = env
        self._looking: asyncio.Task[DefaultModel] | None = None
        self._since: tuple[float, saved_keys.Stamp] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    async def default_model(self) -> DefaultModel:
        """Return the default model. Its fields are None if the search takes more than a second."""
        now, keys = asyncio.get_running_loop().time(), saved_keys.stamp(self.settings.folder)
        if (
            self._looking is None
            or self._since is None
            or self._since[1] != keys
            or (self._looking.done() and now - self._since[0] > _MAX_AGE)
        ):
            self._looking = asyncio.create_task(self._look(), name="default model")
            self._since = now, keys
        done, _ = await asyncio.wait({self._looking}, timeout=_PATIENCE)
        return self._looking.result() if done else DefaultModel()

    async def _look(self) -> DefaultModel:
        try:
            return DefaultModel(*await default_model(self.settings, self.env))
        except TreadleError as error:
            return DefaultModel(error=str(error))
