"""The settings in force, to be read: they are changed in files, which a person can keep."""

import asyncio
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from treadle.config.effective_settings import described
from treadle.config.layers import LayerKind, Origin
from treadle.config.loader import config_paths
from treadle.server.configuration import Configured

router = APIRouter(prefix="/settings", tags=["settings"])


class ToldOrigin(BaseModel):
    """Where a value is from: the layer; of a file its path and line, else the variable or flag."""

    layer: LayerKind
    source: str | None
    line: int | None

    @classmethod
    def of(cls, origin: Origin) -> "ToldOrigin":
        """The same as an answer has it."""
        return cls(layer=origin.layer, source=origin.source or None, line=origin.line)


class ToldSetting(BaseModel):
    """One setting, with secrets masked.

    It is changed in `file`, or with the environment variable `variable` if it has one. With
    `needs_consent` a repository may not set it unless you trust it.
    """

    key: str
    value: Any
    default: Any
    origin: ToldOrigin
    type: str
    description: str
    needs_consent: bool
    file: str
    variable: str | None


class SettingsFile(BaseModel):
    """A file that settings are read from, be it there or not."""

    path: str
    layer: LayerKind
    exists: bool


class SettingsAnswer(BaseModel):
    """All settings as the server read them at its start; a change needs a restart.

    `warnings` say what the repository's file was not allowed to set.
    """

    data: list[ToldSetting]
    files: list[SettingsFile]
    warnings: tuple[str, ...]


@router.get("")
async def effective_settings(configured: Configured) -> SettingsAnswer:
    """Every setting with its value, where it is from, what it is and where to change it."""
    return await asyncio.to_thread(_answer, configured)


def _answer(configured: Configured) -> SettingsAnswer:
    layers = LayerKind.USER, LayerKind.REPOSITORY
    paths = zip(config_paths(configured.root), layers, strict=True)
    return SettingsAnswer(
        data=[
            ToldSetting(
                key=each.key,
                value=each.value,
                default=each.default,
                origin=ToldOrigin.of(each.origin),
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
