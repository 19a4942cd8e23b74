"""The names under which models call the tools of MCP servers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.config.mcp import is_server_name
from treadle.mcp_client.names import offered_name


def test_a_plain_name_is_joined_with_the_name_of_its_server() -> None:
    assert offered_name("docs", "find_page") == "docs__find_page"


def test_long_names_that_are_equal_at_the_beginning_stay_different() -> None:
    names = [offered_name("docs", "a_very_long_name_" + "x" * 80 + end) for end in "12"]

    assert len(set(names)) == 2
    assert all(len(name) == 64 for name in names)


@given(st.text(min_size=1, max_size=200))
def test_every_name_is_one_that_providers_accept(tool: str) -> None:
    name = offered_name("docs", tool)

    assert re.fullmatch(r"docs__[A-Za-z0-9_-]{0,58}", name)
    assert name == offered_name("docs", tool)


@given(st.text(max_size=80), st.text(max_size=80))
def test_different_tools_have_different_names(one: str, other: str) -> None:
    assert (offered_name("docs", one) == offered_name("docs", other)) == (one == other)


@pytest.mark.parametrize("name", ["docs", "a", "my-server", "a_b", "9lives"])
def test_accepted_names_of_servers(name: str) -> None:
    assert is_server_name(name)


@pytest.mark.parametrize("name", ["", "a__b", "a_", "_a", "a b", "ä", "a/b", "x" * 40, "a\n"])
def test_refused_names_of_servers(name: str) -> None:
    assert not is_server_name(name)
