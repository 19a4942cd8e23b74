"""Describes every setting in force: its value, origin, type and description."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from treadle import secrets
from treadle.config import schema
from treadle.config.layers import LayerKind, Origin
from treadle.config.loader import FILE_NAME, LoadedConfig, config_paths
from treadle.config.model import Settings
from treadle.config.section import Section
from treadle.config.variables import PREFIX
from treadle.urls import without_credentials


@dataclass(frozen=True, slots=True)
class DescribedSetting:
    """One setting.

    `value` is a JSON value, with secrets masked. `origin` is the layer that set the value. `file`
    is the file where a person can change the setting. `variable` is the environment variable that
    sets it. `variable` is None if a name in the path of the setting cannot be part of the name of a
    variable.
    """

    key: str
    value: object
    default: object
    origin: Origin
    kind: str
    description: str
    needs_consent: bool
    file: str
    variable: str | None


def described(loaded: LoadedConfig, root: Path) -> list[DescribedSetting]:
    """Return all settings, in the order of docs/configuration.md."""
    own = str(loaded.settings.folder / FILE_NAME)
    repository = str(config_paths(root)[1])
    found = []
    for path, value, field, properties in _fields(
        loaded.settings.model_dump(mode="json"), Settings, ()
    ):
        origin = loaded.origin_of(".".join(path))
        in_repository = origin.layer is LayerKind.REPOSITORY
        found.append(
            DescribedSetting(
                key=schema.dotted(path),
                value=_masked(path[-1], value),
                default=properties.get("default"),
                origin=origin,
                kind=kind(properties),
                description=field.description or "",
                needs_consent=schema.needs_consent(path),
                file=repository if in_repository else own,
                variable=_variable(path),
            )
        )
    return found


def shown_values(loaded: LoadedConfig) -> dict[str, Any]:
    """Return all settings as JSON values, with secrets masked."""
    values = loaded.settings.model_dump(mode="json")
    return {name: _masked(name, value) for name, value in values.items()}


_PLURALS = {"string": "texts", "number": "numbers", "integer": "numbers", "object": "tables"}


def kind(properties: Mapping[str, Any]) -> str:
    """Describe the type of a setting in words. `properties` is the JSON schema of the setting."""
    if "anyOf" in properties:
        return next(kind(each) for each in properties["anyOf"] if each.get("type") != "null")
    if "enum" in properties:
        return " or ".join(f"`{json.dumps(word)}`" for word in properties["enum"])
    if properties.get("type") == "array":
        return f"list of {_PLURALS.get(properties['items'].get('type', 'object'), 'values')}"
    words = {"string": "text", "boolean": "true or false"}
    words |= {"object": "table", "integer": "whole number", "number": "number"}
    limits = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
    bounds = [f"{word} {properties[key]:,}" for key, word in limits.items() if key in properties]
    return " ".join([words[properties["type"]], *bounds])


def _fields(
    values: Mapping[str, Any], section: type[Section], at: schema.Path
) -> Iterator[tuple[schema.Path, Any, FieldInfo, Mapping[str, Any]]]:
    properties = section.model_json_schema(by_alias=False)["properties"]
    for name, value in values.items():
        path = (*at, name)
        node = schema.child(section, path)
        if isinstance(node, FieldInfo):
            yield path, value, node, properties[name]
        elif isinstance(node, schema.NamedSections):
            for each, inner in value.items():
                yield from _fields(inner, node.section, (*path, each))
        else:
            yield from _fields(value, node, path)


def _masked(name: str, value: object) -> object:
    """Mask the credentials of URLs, and texts that look like secrets.

    Texts of all settings are checked, because an API key may be in the wrong setting.
    """
    if isinstance(value, str):
        return secrets.redact_named(name, without_credentials(value))[0]
    if isinstance(value, dict):
        return {key: _masked(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(name, each) for each in value]
    return value


def _variable(path: schema.Path) -> str | None:
    """Return the environment variable of a setting.

    Returns None if `path` cannot be written as the name of a variable.
    """
    if any(not part.isidentifier() or part != part.lower() or "__" in part for part in path):
        return None
    return PREFIX + "__".join(path).upper()
