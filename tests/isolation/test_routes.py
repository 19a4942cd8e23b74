"""Every route of the server, with the ids of another project."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.routing import Route, WebSocketRoute

from tests.isolation import test_tools, test_traffic
from tests.isolation.comparison import comparable, faults_of
from tests.isolation.requests import (
    CREATING,
    PATH_IDS,
    PATH_VALUES,
    PLAIN,
    REFUSED,
    REPEATING,
    ROUTES,
    Template,
    filled,
    kinds_in,
    named_ids,
)
from tests.isolation.world import OTHER, SECRETS, UNKNOWN, VICTIM, Kind, World, contents
from treadle.server.access import ACCESS
from treadle.server.built_page import BuiltPage

pytestmark = pytest.mark.asyncio(loop_scope="package")

_PART = re.compile(r"\{(\w+)\}")
WALKED_ELSEWHERE = test_traffic.WALKED | test_tools.WALKED
_WITHOUT_PARAMETERS = frozenset({
    "GET /api/openapi.json", "GET /sign-in/oidc", "GET /api/public/projects",
    "PATCH /api/public/media/{media_id}",
})  # fmt: skip
"""Routes outside of the OpenAPI document that read nothing but their path."""
_PROVEN_ELSEWHERE = frozenset({Kind.FRONT_END, Kind.UI_REQUEST, Kind.MEDIA})
"""Kinds of ids that no route lists. The filled project used them, so they exist."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A request to an operation of the document, with ids of some kinds."""

    operation: str
    template: Template

    @property
    def path_kinds(self) -> Mapping[str, Kind]:
        names = [name for name in _PART.findall(self.operation) if name not in PATH_VALUES]
        first = first_part(self.operation)
        return {name: PATH_IDS.get(f"{first}/{name}") or PATH_IDS[name] for name in names}

    @property
    def kinds(self) -> set[Kind]:
        return kinds_in(self.template) | set(self.path_kinds.values())

    def parts(self, ids: Mapping[Kind, str]) -> dict[str, Any]:
        """The arguments of the client for a request with these ids."""
        method, _, path = self.operation.partition(" ")
        for name, kind in self.path_kinds.items():
            path = path.replace(f"{{{name}}}", ids[kind])
        for name, value in PATH_VALUES.items():
            path = path.replace(f"{{{name}}}", value)
        if isinstance(self.template, dict):
            return {"method": method, "url": path, "json": filled(self.template, ids)}
        url = f"{path}?{filled(self.template, ids)}" if self.template else path
        return {"method": method, "url": url}


def first_part(operation: str) -> str:
    """The first part of the path below `/api/v1`, such as `proposals`."""
    return operation.partition(" ")[2].removeprefix("/api/v1").split("/")[1]


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def routes_of(app: FastAPI) -> list[str]:
    """The method and the path of every route of the server, without the files of the page."""
    page = {route.path for route in BuiltPage().routes()}
    found = []
    for route in app.router.routes:
        assert isinstance(route, Route | WebSocketRoute), route
        if route.path not in page:
            declared = getattr(route, "methods", None) or ACCESS[route.path]
            found += [f"{method} {route.path_format}" for method in {*declared} - {"HEAD"}]
    return sorted(found)


def probes(app: FastAPI) -> list[Probe]:
    names = [name for name in routes_of(app) if name not in WALKED_ELSEWHERE]
    return [Probe(name, template) for name in names for template in ROUTES.get(name, [""])]


def names_of(operation: Mapping[str, Any], document: Mapping[str, Any]) -> set[str]:
    """The names of all query parameters of an operation, and of all parts of its body."""
    found = {each["name"] for each in operation.get("parameters", ()) if each["in"] != "path"}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        found |= _properties(content.get("schema", {}), document, frozenset())
    return found


def _properties(
    schema: Mapping[str, Any], document: Mapping[str, Any], seen: frozenset[str]
) -> set[str]:
    if (reference := schema.get("$ref")) is not None:
        if reference in seen:
            return set()
        seen |= {reference}
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
    found = set(schema.get("properties", ()))
    inner = [*schema.get("properties", {}).values()]
    inner += [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ())]
    inner += [each for each in (schema.get("items"), schema.get("additionalProperties")) if each]
    return found.union(*(_properties(e, document, seen) for e in inner if isinstance(e, dict)))


def is_expected(operation: str, fault: str) -> bool:
    """Whether the purpose of a route explains a difference between its answers."""
    return operation in REPEATING and "differ" in fault


async def test_requests_cover_every_name_of_the_document(world: World) -> None:
    document = world.app.openapi()
    for name, operation in operations(document):
        given = set(named_ids(ROUTES.get(name, [])))
        unknown = names_of(operation, document) - given - PLAIN
        walked = name in WALKED_ELSEWHERE
        assert not unknown or walked, f"{name}: does {sorted(unknown)} contain ids?"
        needs_body = operation.get("requestBody", {}).get("required", False)
        assert name in ROUTES or walked or not needs_body, f"{name}: has no request with a body"


async def test_every_route_is_walked(world: World) -> None:
    """A route outside of the document needs requests here, or a test of its own."""
    routes, documented = routes_of(world.app), {n for n, _ in operations(world.app.openapi())}
    for name in set(routes) - WALKED_ELSEWHERE:
        for part in _PART.findall(name):
            known = {part, f"{first_part(name)}/{part}"} & {*PATH_IDS, *PATH_VALUES}
            assert known, f"{name}: of which kind is {part}?"
        assert name in documented | set(ROUTES) | _WITHOUT_PARAMETERS, f"{name}: has no request"
    assert set(ROUTES) | WALKED_ELSEWHERE | _WITHOUT_PARAMETERS <= set(routes)
    assert not WALKED_ELSEWHERE & set(ROUTES)


async def test_ids_of_the_requests_exist_in_their_own_project(world: World) -> None:
    """If the ids did not exist, the next test would pass for the wrong reason."""
    http, ids = world.http[VICTIM], world.ids[VICTIM]
    proven, listed = set(_PROVEN_ELSEWHERE), ""
    for probe in probes(world.app):
        if not probe.operation.startswith("GET "):
            continue
        known = await http.request(**probe.parts(ids))
        if not probe.kinds:
            listed += known.text
        elif not proven.issuperset(probe.kinds):
            unknown = await http.request(**probe.parts(UNKNOWN))
            answers = ((known, ids), (unknown, UNKNOWN))
            first, second = (comparable(a, probe.kinds, i, creates=True) for a, i in answers)
            proven |= probe.kinds if first != second else set()
    proven |= {kind for kind, each in ids.items() if each in listed}
    assert proven == set(Kind)
    assert SECRETS[VICTIM] in listed


async def test_ids_of_another_project_are_answered_like_unknown_ids(world: World) -> None:
    before = await contents(world.stores[VICTIM])
    faults = []
    for probe in probes(world.app):

        async def send(
            ids: Mapping[Kind, str], headers: Mapping[str, str], probe: Probe = probe
        ) -> httpx2.Response:
            answer = await world.http[OTHER].request(**probe.parts(ids), headers=headers)
            valid = answer.status_code != 422 or probe.operation in REFUSED
            assert valid, f"{probe}: {answer.text}"
            return answer

        creates = probe.operation in CREATING
        found = await faults_of(world, probe, probe.kinds, send, creates=creates)
        faults += [each for each in found if not is_expected(probe.operation, each)]
    assert not faults, "\n".join(faults)
    assert await contents(world.stores[VICTIM]) == before
    recorded = {store for each in world.recorded.of_probe.values() for store, _ in each}
    assert recorded & world.places(OTHER)
