"""Calls of the analyst and of experiments are hidden in lists, sums and facets by default."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import treadle
from tests.server.serving import Served, serving
from tests.spans.runs import span
from treadle.spans.span import ANALYST_LABEL, EXPERIMENT_LABEL, SpanKind
from treadle.traces import TraceStore

LISTS = ("/threads", "/runs", "/spans", "/search?q=span", "/groups?group_by=label",
         "/groups?group_by=model", "/labels", "/summary", "/facets", "/facets?rows=runs",
         "/facets?rows=threads", "/query/values?field=label", "/findings")  # fmt: skip


@pytest.fixture
def recorded(repo: Path) -> Path:
    """A repository with a call of the user and two calls of Treadle."""
    home = repo.parent / "home"
    home.mkdir(exist_ok=True)
    store = TraceStore.open(home / "data" / "traces.db")
    labels = {"user": "prod", "asked": ANALYST_LABEL, "tried": EXPERIMENT_LABEL}
    store.write(
        [
            replace(
                span(f"span {name}", trace_id=f"trace-{name}", kind=SpanKind.MODEL),
                thread_id=f"thread-{name}",
                run_id=f"run-{name}",
                name=f"span {name}",
                model=f"model-{name}",
                labels=(label,),
            )
            for name, label in labels.items()
        ]
    ).result()
    store.close()
    return repo


async def text_of(served: Served, path: str, **parameters: Any) -> str:
    return json.dumps(await served.get(path, **parameters))


async def test_no_list_sum_or_facet_shows_own_calls_unless_the_switch_is_on(recorded: Path) -> None:
    async with serving(recorded) as served:
        for address in LISTS:
            path, _, given = address.partition("?")
            asked = dict(each.split("=") for each in given.split("&")) if given else {}
            default = await text_of(served, path, **asked)
            shown = await text_of(served, path, **asked, own="include")
            typed = await text_of(served, path, **asked, query="own:include")
            for own in ("asked", "tried", ANALYST_LABEL, EXPERIMENT_LABEL):
                assert own not in default, (path, own)
            assert shown == typed, path
            if path != "/findings":
                assert shown != default, path
        # an id or a label selects them
        assert len((await served.get("/runs", thread_ids="thread-tried"))["data"]) == 1
        assert len((await served.get("/spans", labels=EXPERIMENT_LABEL))["data"]) == 1
        assert (await served.http.get("/api/v1/runs", params={"own": "yes"})).status_code == 422


@pytest.mark.parametrize(
    "words", [("list",), ("list", "--spans"), ("list", "--threads"), ("search", "span"),
              ("summary",)]
)  # fmt: skip
def test_the_command_line_leaves_own_calls_out_unless_the_query_includes_them(
    recorded: Path, words: tuple[str, ...]
) -> None:
    home = recorded.parent / "home"
    default = treadle("traces", *words, "--json", home=home).out
    shown = treadle("traces", *words, "own:include", "--json", home=home).out
    assert "trace-user" in default or "model-user" in default
    for own in ("asked", "tried"):
        assert own not in default
        assert own in shown
