"""What of the retrieved items a context shows: copies once, the lines that match, all the room."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.code import CodeIndex, ContextEntry, ContextResult
from treadle.code.snippets import parse_snippets

Fits = Callable[[Sequence[ContextEntry], int], bool]


def within(characters: int) -> Fits:
    return lambda entries, _omitted: sum(len(entry.snippet) for entry in entries) <= characters


@contextmanager
def indexed(root: Path, files: dict[str, str]) -> Iterator[CodeIndex]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    with CodeIndex.open(root, cache_dir=root.parent / f"{root.name}-cache") as index:
        index.refresh()
        yield index


def context(
    tmp_path: Path, files: dict[str, str], query: str, *, top_k: int = 10, budget: int = 10_000
) -> ContextResult:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    with indexed(root, files) as index:
        return index.context(query, top_k=top_k, fits=within(budget))


def statements(count: int) -> str:
    return "".join(f"    step_{number}()\n" for number in range(count))


SOURCE = """\
/** Tells a person what went wrong with a value. */
export function prettify(error: Failure, indent: number): string {
  const lines: string[] = [];
  for (const issue of error.issues) lines.push(issue.message);
  return lines.join("\\n");
}
"""
COMPILED = """\
/** Tells a person what went wrong with a value. */
export function prettify(error, indent) {
  const lines = [];
  for (const issue of error.issues) lines.push(issue.message);
  return lines.join("\\n");
}
"""
DECLARED = "export declare function prettify(error: Failure, indent: number): string;\n"
BUILT = {
    "pkg/lib/errors.js": COMPILED,
    "pkg/lib/errors.cjs": '"use strict";\n' + COMPILED.replace("export ", ""),
    "pkg/lib/errors.d.ts": DECLARED,
    "pkg/lib/errors.d.cts": DECLARED,
    "pkg/src/errors.ts": SOURCE,
}


@pytest.mark.parametrize("query", ["prettify", "what tells a person that a value went wrong"])
def test_context_shows_the_source_instead_of_its_build(tmp_path: Path, query: str) -> None:
    result = context(tmp_path, BUILT, query)
    shown = [entry.file for entry in result.entries if entry.name == "prettify"]
    assert shown == ["pkg/src/errors.ts"]


def test_copies_leave_their_position_to_other_items(tmp_path: Path) -> None:
    others = {
        f"pkg/src/other{n}.ts": f"export function prettifyOther{n}() {{ return {n}; }}\n"
        for n in range(4)
    }
    result = context(tmp_path, BUILT | others, "prettify", top_k=5)
    assert len({entry.name for entry in result.entries}) == 5
    assert result.omitted == 0


def test_different_items_of_one_name_are_not_copies(tmp_path: Path) -> None:
    files = {
        "a/model.ts": "export interface Price { amount: number; currency: string }\n",
        "b/model.ts": "export const Price = makeSchema({ kind: 'money', check: positive });\n",
        "c/model.ts": "export const Price = loadTable('prices').column('latest').cached(true);\n",
    }
    result = context(tmp_path, files, "Price")
    assert {entry.file for entry in result.entries} == set(files)


def test_excerpt_of_a_long_function_shows_matching_lines(tmp_path: Path) -> None:
    answer = "    send_invoice_to_archive(customer)\n"
    text = f"def process(customer):\n{statements(80)}{answer}{statements(80)}"
    result = context(
        tmp_path, {"work.py": text}, "where is an invoice sent to the archive", budget=600
    )
    (entry,) = result.entries
    assert answer in entry.snippet
    assert not entry.whole
    assert entry.start_line > 60


def test_named_function_is_shown_first_up_to_the_budget(tmp_path: Path) -> None:
    files = {"long.py": f"def settle():\n{statements(300)}"} | {
        f"near{n}.py": f"def settle_{n}():\n    return settle({n})\n" for n in range(9)
    }
    result = context(tmp_path, files, "settle", budget=3_000)
    assert result.entries[0].canonical_path == "long.settle"
    assert result.entries[0].start_line == 1
    assert len(result.entries[0].snippet) > 2_900
    assert result.omitted == 10 - len(result.entries)


def test_a_named_function_leaves_the_rest_of_the_budget(tmp_path: Path) -> None:
    files = {"one.py": f"def settle():\n{statements(20)}", "two.py": "def settle_all(): settle()\n"}
    result = context(tmp_path, files, "settle", budget=3_000)
    assert [entry.name for entry in result.entries] == ["settle", "settle_all"]
    assert all(entry.whole for entry in result.entries)


def test_remaining_budget_widens_cut_entries(tmp_path: Path) -> None:
    files = {"a.py": f"def pay_the_bill():\n{statements(120)}", "b.py": "def bill(): ...\n"}
    budget = 2_000
    result = context(tmp_path, files, "how to pay the bill", budget=budget)
    assert len(result.entries) == 2
    assert result.omitted == 0
    assert sum(len(entry.snippet) for entry in result.entries) > budget - 100


def inner(count: int) -> str:
    return "".join(f"    {line}\n" for line in statements(count).splitlines())


def test_a_method_is_shown_with_the_first_line_of_its_class(tmp_path: Path) -> None:
    text = (
        f"class Ledger(Book):\n    rate = 3\n\n    def settle(self):\n{inner(4)}"
        f"\n    def open_all(self):\n{inner(90)}"
    )
    files = {"a.py": text, "b.py": f"def other():\n{statements(200)}"}
    result = context(tmp_path, files, "settle", top_k=3)
    assert [(entry.name, entry.start_line) for entry in result.entries][:2] == [
        ("Ledger", 1),
        ("settle", 4),
    ]
    assert result.entries[0].snippet.endswith("\nclass Ledger(Book):\n</code>")
    assert len(context(tmp_path, files, "settle", top_k=1).entries) == 1


def test_methods_of_a_large_class_are_shown_next_to_its_first_lines(tmp_path: Path) -> None:
    methods = "".join(
        f"\n    def archive_{part}(self):\n{inner(12)}" for part in ("paid", "open", "late")
    )
    methods += f"\n    def settle(self):\n{inner(300)}"
    text = f'class InvoiceArchive:\n    """Archive of invoices."""\n{methods}'
    others = {f"b{n}.py": f"def archive_{n}():\n{statements(3)}" for n in range(9)}
    result = context(tmp_path, {"a.py": text} | others, "invoice archive", top_k=20, budget=3_600)
    shown = {entry.name: entry for entry in result.entries if entry.file == "a.py"}
    assert shown["archive_paid"].whole
    assert shown["archive_late"].whole
    assert '"""Archive of invoices."""' in shown["InvoiceArchive"].snippet
    assert not shown["InvoiceArchive"].whole


def test_function_that_fits_is_shown_complete(tmp_path: Path) -> None:
    files = {"a.py": f"def pay_the_bill():\n{statements(80)}"} | {
        f"b{n}.py": f"def bill_{n}():\n{statements(20)}" for n in range(9)
    }
    result = context(tmp_path, files, "how to pay the bill", budget=2_000)
    assert [entry.whole for entry in result.entries if entry.name == "pay_the_bill"] == [True]


def test_small_items_precede_a_large_one_with_the_same_score(tmp_path: Path) -> None:
    files = {"a.py": f"def bill_of_all():\n{statements(140)}"} | {
        f"b{n}.py": f"def bill_of_{n}():\n{statements(2 + n)}" for n in range(6)
    }
    result = context(tmp_path, files, "where is a bill", budget=2_000)
    assert {f"bill_of_{n}" for n in range(6)} <= {entry.name for entry in result.entries}


words = st.sampled_from(["cart", "price", "é", "total_price", "x", "stop"])
functions = st.builds(
    lambda name, lines: f"def {name}():\n" + "".join(f"    {line} = 1\r\n" for line in lines),
    words.filter(str.isascii), st.lists(words, min_size=1, max_size=60),
)  # fmt: skip
classes = st.builds(
    lambda name, methods: f"class {name}:\n    '''The cart.'''\n"
    + "".join(f"    {line}\n" for method in methods for line in method.split("\n")),
    words.filter(str.isascii), st.lists(functions, min_size=1, max_size=4),
)  # fmt: skip
texts = st.lists(words, max_size=90).map("\n".join)


@settings(max_examples=25, deadline=None)
@given(
    files=st.dictionaries(
        st.sampled_from(["a.py", "b.py", "dist/a.py", "vendor/b.py", "notes.txt"]),
        st.lists(functions | classes | texts, min_size=1, max_size=4).map("\n".join),
        min_size=1,
    ),
    query=st.sampled_from(["cart", "total_price", "what is the price of a cart", "stop.cart"]),
    budget=st.integers(1, 4_000),
    top_k=st.integers(1, 12),
)
def test_entries_are_lines_of_their_files_and_never_overlap(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, str],
    query: str,
    budget: int,
    top_k: int,
) -> None:
    root = tmp_path_factory.mktemp("context")
    with indexed(root, files) as index:
        result = index.context(query, top_k=top_k, fits=within(budget))
        assert index.context(query, top_k=top_k, fits=within(budget)) == result
        everything = index.context(query, top_k=top_k, fits=lambda _entries, _omitted: True)
    assert within(budget)(result.entries, result.omitted)
    assert len(result.entries) <= top_k
    # The first line of a type above its method is not one of the items that were found.
    found = {entry.canonical_path for entry in everything.entries if entry.whole}
    assert result.omitted >= len(found - {entry.canonical_path for entry in result.entries})
    assert result.omitted <= top_k
    taken: list[tuple[str, int, int]] = []
    for entry in result.entries:
        data = (root / entry.file).read_bytes()
        (snippet,) = parse_snippets(entry.snippet)
        assert snippet.content.encode() == data[entry.start_byte : entry.end_byte]
        assert data[: entry.start_byte].count(b"\n") + 1 == entry.start_line
        assert data[: entry.end_byte].count(b"\n") + 1 >= entry.end_line
        assert not data[data.rfind(b"\n", 0, entry.start_byte) + 1 : entry.start_byte].strip()
        for file, start, end in taken:
            assert file != entry.file or entry.end_byte <= start or end <= entry.start_byte
        taken.append((entry.file, entry.start_byte, entry.end_byte))
