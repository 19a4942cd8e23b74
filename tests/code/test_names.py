"""Names as they are written: what is left of them to be shown, and to be resolved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.code.languages import Language, language_of
from treadle.code.parse.content import read_content
from treadle.code.parse.names import names, type_name


@pytest.mark.parametrize(
    ("written", "shown", "path"),
    [
        ("store.write", "store.write", "store.write"),
        ("std::fs::\n  read", "std::fs::read", "std.fs.read"),
        ("Vec::<u8>::new", "Vec::new", "Vec.new"),
        ("rows[0].name", "rows.name", "rows.name"),
        ("Store(path).write", "Store().write", "Store().write"),
        ("a.b(c).d", "….d", ""),
        ("found.filter(|x| x < 3).collect", "….collect", ""),
        ("found.map(f).collect::<Vec<_>>", "….collect", ""),
        ("a.f(x)->next", "….next", ""),
        ("table[0]()", "", ""),
    ],
)
def test_call_is_named_by_its_path_or_last_name(written: str, shown: str, path: str) -> None:
    assert names(written.encode(), True) == (shown, path)


@given(st.binary(max_size=200) | st.text("<>[]().a: -&", max_size=60).map(str.encode))
def test_any_text_has_a_name_or_none(written: bytes) -> None:
    for is_call in (True, False):
        text, path = names(written, is_call)
        assert not path or text
    assert " " not in type_name(written.decode("utf-8", "replace"))


@pytest.mark.parametrize("count", [3, 80])
def test_long_chain_keeps_each_call(count: int) -> None:
    """A file that sets up a command line is one chain of thousands of bytes."""
    chain = "".join(f"\n        .arg_{number}(name < {number})" for number in range(count))
    source = f"fn cli() -> Command {{\n    Command::new(){chain}\n}}\n".encode()
    language = language_of("cli.rs")
    assert isinstance(language, Language)
    found = read_content("src/cli.rs", source, language).references.references
    texts = {use.text for use in found}
    assert {"Command::new", *(f"….arg_{number}" for number in range(1, count))} <= texts
