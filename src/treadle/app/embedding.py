"""Which embedder searches a repository, by its settings and by what is installed.

Loads nothing until there may be one: settings take longer to read than a search takes.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.code.dense.embedder import minilm_installed
from treadle.paths import user_config_dir

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Embedder, Endpoint
    from treadle.config.model import Settings

_VARIABLE = "TREADLE_CONTEXT__EMBEDDER"


def embedder_for(root: Path) -> "Callable[[], Embedder | None] | None":
    """What chooses the embedder of the settings in force for `root`; None if there can be none.

    What it returns raises ConfigError or ProviderError where an endpoint is chosen that cannot be
    asked, and gives None where the settings say to search by words alone.
    """
    return partial(_choose, root) if _may_have_one(root) else None


def _may_have_one(root: Path) -> bool:
    variable = os.environ.get(_VARIABLE)
    if variable is not None:
        return variable != "none"
    if minilm_installed():
        return True
    files = (user_config_dir() / "config.toml", root / ".treadle" / "config.toml")
    return any(path.is_file() and b"embedder" in path.read_bytes() for path in files)


def _choose(root: Path) -> "Embedder | None":
    from treadle.code.dense.embedder import choose_embedder
    from treadle.config.loader import load

    settings = load(root, os.environ, {}).settings
    choice = settings.context.embedder
    if choice == "openai":
        import asyncio

        return choose_embedder(choice, asyncio.run(_endpoint(settings)))
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
