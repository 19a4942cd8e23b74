"""A route that shows the effective settings. It cannot change them."""

import asyncio
from typing import Any

from pydantic import BaseModel

from treadle.config.effective_settings import described
from treadle.config.layers import LayerKind, Origin
from treadle.config.loader import FILE_NAME, config_paths
from treadle.server.current_project import Configured
from treadle.server.routers import api_router

router = api_router("/settings", "settings")


class ValueOrigin(BaseModel):
    """Where the value of a setting comes from.

    `layer` is the kind of source. `source` is the path of a file, an environment variable or a
    command-line flag. `line` is a line number, and is null unless `source` is a file.
    """

    layer: LayerKind
    source: str | None
    line: int | None

    @classmethod
    def of(cls, origin: Origin) -> "ValueOrigin":
        """Convert the origin of a value into its JSON form."""
        return cls(layer=origin.layer, source=origin.source or None, line=origin.line)


class EffectiveSetting(BaseModel):
    """A setting with its value. Secrets are masked.

    `file` and `variable` are the configuration file and the environment variable that can set the
    value. If `needs_consent` is true, a repository's own file cannot set the value unless the user
    trusts the repository.
    """

    key: str
    value: Any
    default: Any
    origin: ValueOrigin
    type: str
    description: str
    needs_consent: bool
    file: str
    variable: str | None


class SettingsFile(BaseModel):
    """The path of a configuration file, and whether the file exists."""

    path: str
    layer: LayerKind
    exists: bool


class SettingsAnswer(BaseModel):
    """All settings with the values that the server read at its start.

    A changed setting takes effect after a restart. Each of the `warnings` names a setting that the
    repository's file may not set.
    """

    data: list[EffectiveSetting]
    files: list[SettingsFile]
    warnings: tuple[str, ...]


@router.get("")
async def effective_settings(configured: Configured) -> SettingsAnswer:
    """Return every setting with its value, its origin, its description and where to change it."""
    return await asyncio.to_thread(_answer, configured)


def _answer(configured: Configured) -> SettingsAnswer:
    user, repository = config_paths(configured.root)
    paths = [(user, LayerKind.USER), (repository, LayerKind.REPOSITORY)]
    if (own := configured.settings.folder / FILE_NAME) != user:
        paths.append((own, LayerKind.PROJECT))
    return SettingsAnswer(
        data=[
            EffectiveSetting(
                key=each.key,
                value=each.value,
                default=each.default,
                origin=ValueOrigin.of(each.origin),
                type=each.kind,
                description=each.description,
                needs_consent=each.needs_consent,
                file=each.file,
                variable=each.variable,
            )
            for each in described(configured.loaded, configured.root)
        ],
        files=[SettingsFile(path=str(p), layer=layer, exists=p.exists()) for p, layer in paths],
        warnings=configured.loaded.warnings,
    )
