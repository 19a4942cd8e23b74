"""Shows the effective settings. People change them in files."""

import asyncio
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from treadle.config.effective_settings import described
from treadle.config.layers import LayerKind, Origin
from treadle.config.loader import config_paths
from treadle.server.configuration import Configured

router = APIRouter(prefix="/settings", tags=["settings"])


class ValueOrigin(BaseModel):
    """The source of a value: its layer, and the path and line, the variable or the flag."""

    layer: LayerKind
    source: str | None
    line: int | None

    @classmethod
    def of(cls, origin: Origin) -> "ValueOrigin":
        """The origin as JSON."""
        return cls(layer=origin.layer, source=origin.source or None, line=origin.line)


class EffectiveSetting(BaseModel):
    """A setting, with masked secrets.

    People change it in `file`, or with the environment variable `variable`. A repository may not
    set one with `needs_consent` unless you trust it.
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
    """A configuration file, whether or not it exists."""

    path: str
    layer: LayerKind
    exists: bool


class SettingsAnswer(BaseModel):
    """All settings as the server read them at its start. A change needs a restart.

    `warnings` name settings that the file of the repository may not set.
    """

    data: list[EffectiveSetting]
    files: list[SettingsFile]
    warnings: tuple[str, ...]


@router.get("")
async def effective_settings(configured: Configured) -> SettingsAnswer:
    """Every setting with its value, its source, its description and where to change it."""
    return await asyncio.to_thread(_answer, configured)


def _answer(configured: Configured) -> SettingsAnswer:
    layers = LayerKind.USER, LayerKind.REPOSITORY
    paths = zip(config_paths(configured.root), layers, strict=True)
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
