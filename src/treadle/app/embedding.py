"""What searches a repository by meaning, by its settings.

Loads nothing until it must: settings take longer to read than a search takes.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treadle.app.plain_settings import may_be_set
from treadle.code.dense.embedder import own_embedding

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Embedder, Endpoint
    from treadle.config.model import Settings

_VARIABLE = "TREADLE_CONTEXT__EMBEDDER"


class Embedders(NamedTuple):
    """What gives the folder of the own embedding, and what the embedder that reorders the best.

    None of either if there can be none. `embedder` raises ConfigError or ProviderError where an
    endpoint is chosen that cannot be asked, both raise ConfigError for settings that are wrong.
    """

    static: Callable[[], Path | None] | None = None
    embedder: "Callable[[], Embedder | None] | None" = None


def embedders_for(root: Path) -> Embedders:
    """What the settings in force for `root` choose."""
    match _plain_choice(root):
        case "none":
            return Embedders()
        case "auto" | "static":
            return Embedders(own_embedding)
    settings = cache(partial(_settings, root))
    return Embedders(partial(_static, settings), partial(_embedder, settings))


def _plain_choice(root: Path) -> str | None:
    """The choice, where settings need not be read to know it."""
    variable = os.environ.get(_VARIABLE)
    if variable is not None:
        return variable
    return None if may_be_set(root, "embedder") else "auto"


def _settings(root: Path) -> "Settings":
    from treadle.config.loader import load

    return load(root, os.environ, {}).settings


def _static(settings: "Callable[[], Settings]") -> Path | None:
    return None if settings().context.embedder == "none" else own_embedding()


def _embedder(settings: "Callable[[], Settings]") -> "Embedder | None":
    from treadle.code.dense.embedder import choose_embedder

    choice = settings().context.embedder
    if choice == "openai":
        import asyncio

        return choose_embedder(choice, asyncio.run(_endpoint(settings())))
    return choose_embedder(choice)


async def _endpoint(settings: "Settings") -> "Endpoint":
    from treadle.code.dense.embedder import Endpoint
    from treadle.errors import ConfigError
    from treadle.llm.profiles import endpoint_for

    provider, slash, model = (settings.context.embedding_model or "").partition("/")
    if not (provider and slash and model):
        raise ConfigError(
            'The embedder "openai" needs a model.',
            hint="Set context.embedding_model to PROVIDER/MODEL.",
        )
    found = await endpoint_for(settings, os.environ, provider, model)
    return Endpoint(found.base_url, found.model, found.api_key)
