"""Which embedder searches a repository, by its settings and by what is installed."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.code.dense.embedder import Embedder, Endpoint, choose_embedder, minilm_installed
from treadle.errors import ConfigError
from treadle.paths import user_config_dir

if TYPE_CHECKING:
    from treadle.config.model import Settings


def choose_for(root: Path) -> Embedder | None:
    """The embedder of the settings in force for `root`; None searches by words alone.

    Raises ConfigError or ProviderError where an endpoint is chosen that cannot be asked.
    """
    if not _is_worth_reading(root):
        return None
    from treadle.config.loader import load

    settings = load(root, os.environ, {}).settings
    choice = settings.context.embedder
    if choice == "openai":
        import asyncio

        return choose_embedder(choice, asyncio.run(_endpoint(settings)))
    return choose_embedder(choice)


def _is_worth_reading(root: Path) -> bool:
    """Whether settings may lead to an embedder: reading them takes longer than a search."""
    if minilm_installed() or "TREADLE_CONTEXT__EMBEDDER" in os.environ:
        return True
    files = (user_config_dir() / "config.toml", root / ".treadle" / "config.toml")
    return any(path.is_file() and b"embedder" in path.read_bytes() for path in files)


async def _endpoint(settings: "Settings") -> Endpoint:
    from treadle.llm.profiles import endpoint_for

    provider, slash, model = (settings.context.embedding_model or "").partition("/")
    if not (provider and slash and model):
        raise ConfigError(
            'The embedder "openai" needs a model.',
            hint="Set context.embedding_model to PROVIDER/MODEL.",
        )
    found = await endpoint_for(settings, os.environ, provider, model)
    return Endpoint(found.base_url, found.model, found.api_key)
