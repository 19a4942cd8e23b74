"""The public interface of the index: refresh, search, context, files, concurrent users."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.code.contents import contents
from treadle.code import CodeIndex, ContextEntry, View
from treadle.code.snippets import parse_snippets
from treadle.code.storage import refresh
from treadle.code.storage.store import SCHEMA_VERSION, store_path
from treadle.errors import StoreError

FILES = {
    "src/shop/cart.py": '''\
"""The shopping cart."""

class Cart:
    """Holds what a customer wants to buy."""

    def total(self) -> int:
        """Sum of all prices, with discounts applied."""
        return sum(line.price for line in self.lines)

    def add(self, line):
        self.lines.append(line)

class GiftCart(Cart):
    def wrap(self): ...
''',
    "src/shop/payment.py": '''\
def charge_card(card, amount):
    """Charge the customer's credit card and retry when the bank is slow."""
    return gateway.charge(card, amount)
''',
    "tests/test_payment.py": '''\
def test_charge_card_retries_when_the_bank_is_slow():
    """Charge the customer's credit card and retry when the bank is slow."""
    assert charge_card(card, 1)
''',
    "web/cart.ts": "export class Cart { total(): number { return 0; } }\n",
    "README.md": "# Shop\n\nA shop with a cart and payments by credit card.\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    write(folder, FILES)
    return folder


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Iterator[CodeIndex]:
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as opened:
        opened.refresh()
        yield opened


def found(index: CodeIndex, query: str, view: View = View.ITEMS) -> list[str]:
    return [result.canonical_path for result in index.search(query, view=view).results]


def everything(_entries: Sequence[ContextEntry], _omitted: int) -> bool:
    return True


def within(characters: int) -> Callable[[Sequence[ContextEntry], int], bool]:
    return lambda entries, omitted: (
        sum(len(entry.snippet) for entry in entries) + len(str(omitted)) <= characters
    )


# Refresh


def test_a_refresh_reports_its_changes_once(index: CodeIndex, root: Path) -> None:
    for path in root.rglob("*.*"):
        os.utime(path, (1e9, 1e9))  # a file written just now would be read once more
    index.refresh()
    again = index.refresh()
    assert (again.added, again.changed, again.removed, again.files) == (0, 0, 0, 5)
    assert index.status().fresh
    (root / "src/shop/cart.py").write_text("def empty_cart(): pass\n")
    (root / "README.md").unlink()
    (root / "new.go").write_text("package main\nfunc Fresh() {}\n")
    assert not index.status().fresh
    report = index.refresh()
    assert (report.added, report.changed, report.removed, report.files) == (1, 1, 1, 5)
    assert found(index, "Fresh")[0] == "main.Fresh"
    assert "shop.cart.GiftCart" not in found(index, "GiftCart")


def test_a_touched_file_is_not_parsed_again_and_a_change_of_equal_size_is_seen(
    index: CodeIndex, root: Path
) -> None:
    path = root / "src/shop/payment.py"
    os.utime(path, ns=(1, 1))
    assert index.refresh().changed == 0
    path.write_text(FILES["src/shop/payment.py"].replace("charge_card", "charge_bill"))
    os.utime(path, ns=(1, 1))
    path.write_text(path.read_text())
    assert index.refresh().changed == 1
    assert found(index, "charge_bill")[0] == "shop.payment.charge_bill"


def test_incremental_index_equals_a_rebuilt_one(
    index: CodeIndex, root: Path, tmp_path: Path
) -> None:
    write(root, {"src/shop/cart.py": FILES["web/cart.ts"], "a/b.rs": "pub fn total() {}\n"})
    index.refresh()
    shutil.rmtree(root / "web")
    index.refresh()
    with CodeIndex.open(root, cache_dir=tmp_path / "other") as other:
        other.refresh()
        for query in ("total", "cart with discounts", "credit card"):
            ours, theirs = index.search(query), other.search(query)
            assert ours.results == theirs.results
            assert (ours.files, ours.items) == (theirs.files, theirs.items)


def test_skipped_files_are_reported_each_time_and_become_indexed(
    index: CodeIndex, root: Path
) -> None:
    (root / "data.bin").write_bytes(b"\0\1")
    (root / "link.py").symlink_to("src/shop/cart.py")
    expected = {"data.bin": "binary", "link.py": "link"}
    assert index.refresh().skipped == expected
    assert index.refresh().skipped == expected
    summary = index.files_summary("data.bin")
    assert summary is not None
    assert (summary.skipped, summary.items) == ("binary", 0)
    (root / "data.bin").write_text("now words")
    assert index.refresh().skipped == {"link.py": "link"}


def test_progress_counts_files(root: Path, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    with CodeIndex.open(root, cache_dir=tmp_path / "c") as index:
        index.refresh(lambda done, total: heard.append((done, total)))
    assert heard[-1] == (5, 5)


def test_workers_build_the_same_index(
    index: CodeIndex, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "_POOL_BYTES", 0)
    monkeypatch.setattr(refresh, "_TASK_BYTES", 100)
    with CodeIndex.open(root, cache_dir=tmp_path / "workers") as other:
        other.refresh()
        assert other.search("cart total").results == index.search("cart total").results
    assert contents(root, tmp_path / "workers") == contents(root, tmp_path / "cache")


def test_index_is_built_without_workers_if_none_can_start(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "_POOL_BYTES", 0)
    monkeypatch.setattr(refresh, "_TASK_BYTES", 100)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with CodeIndex.open(root, cache_dir=tmp_path / "alone") as index:
        assert index.refresh().files == 5


def test_empty_and_missing_roots_are_indexed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing"):
        with CodeIndex.open(tmp_path / name, cache_dir=tmp_path / "cache") as index:
            assert index.refresh().files == 0
            assert index.search("anything").results == ()
            assert index.search("anything", view=View.FILES).results == ()
            assert index.context("anything", top_k=5, fits=everything).entries == ()


def test_unusual_file_names_are_indexed(index: CodeIndex, root: Path) -> None:
    names = ["a b.py", "\N{SNAKE}.py", "new\nline.py", os.fsdecode(b"caf\xe9.py")]
    for name in names:
        (root / name).write_text("def oddly_named_zebra(): pass\n")
    index.refresh()
    results = index.search("oddly_named_zebra").results
    assert {result.file for result in results} >= set(names)
    shown = index.context("oddly_named_zebra", top_k=20, fits=everything)
    assert [entry.file for entry in shown.entries] == ["a b.py"]  # the others hold the same bytes


# Search


def test_exact_definitions_come_first(index: CodeIndex) -> None:
    assert found(index, "Cart")[:2] == ["shop.cart.Cart", "web/cart.Cart"]
    assert found(index, "cart.total")[0] == "shop.cart.Cart.total"
    assert found(index, "shop.cart.Cart.total")[0] == "shop.cart.Cart.total"
    assert found(index, "`charge_card()`")[0] == "shop.payment.charge_card"
    assert found(index, "GiftCart::wrap")[0] == "shop.cart.GiftCart.wrap"
    assert found(index, "art.wrap")[0] == "shop.cart.GiftCart.wrap"


def test_a_question_in_words_finds_the_code_before_its_test(index: CodeIndex) -> None:
    question = "How is the credit card charged, and is it retried when the bank is slow?"
    assert found(index, question)[:2] == [
        "shop.payment.charge_card",
        "tests.test_payment.test_charge_card_retries_when_the_bank_is_slow",
    ]
    assert found(index, question, View.FILES)[0] == "src/shop/payment.py"
    assert found(index, f"test: {question}", View.FILES)[0] == "tests/test_payment.py"


def test_results_have_ranks_and_exact_ranges(index: CodeIndex, root: Path) -> None:
    results = index.search("cart", top_k=3)
    assert [result.rank for result in results.results] == [1, 2, 3]
    first = results.results[0]
    data = (root / first.file).read_bytes()[first.start_byte : first.end_byte]
    assert data.startswith(b"class Cart:")
    assert (first.start_line, first.end_line) == (3, 11)
    assert (results.files, results.items) == (5, index.status().items)


@pytest.mark.parametrize(
    "query", ["", "   ", "?!", "the of and", "\0", "\udc80", "%'\";--", "::", "a::"]
)
def test_unusual_queries_are_answered(index: CodeIndex, query: str) -> None:
    for view in View:
        assert index.search(query, view=view).query == query
    assert index.context(query, top_k=5, fits=everything).query == query


def test_search_reads_the_beginning_of_a_huge_query(index: CodeIndex) -> None:
    assert found(index, "charge card " + "cart wrap total " * 70_000)


# Context


def test_context_has_exact_bytes_and_ranges(index: CodeIndex, root: Path) -> None:
    result = index.context("charge the credit card", top_k=5, fits=everything)
    assert result.entries[0].canonical_path == "shop.payment.charge_card"
    assert "test" in result.entries[-1].file
    for entry in result.entries:
        (snippet,) = parse_snippets(entry.snippet)
        data = (root / entry.file).read_bytes()
        assert snippet.path == str(root / entry.file)
        assert snippet.content.encode() == data[entry.start_byte : entry.end_byte]
        assert data[: entry.start_byte].count(b"\n") + 1 == entry.start_line


def test_nested_items_are_shown_once(index: CodeIndex) -> None:
    entries = index.context("Cart", top_k=10, fits=everything).entries
    spans = [(entry.file, entry.start_byte, entry.end_byte) for entry in entries]
    for file, start, end in spans:
        assert not any(
            file == other and start <= low and high <= end and (start, end) != (low, high)
            for other, low, high in spans
        )


def test_an_item_that_does_not_fit_is_a_signature_or_omitted(index: CodeIndex, root: Path) -> None:
    head = f'<code="{root}/src/shop/cart.py" #22:33>\nclass Cart:\n</code>'
    result = index.context("shop.cart.Cart", top_k=1, fits=within(len(head) + 5))
    (entry,) = result.entries
    assert (entry.snippet, entry.whole, result.omitted) == (
        head.replace("22:33", f"{entry.start_byte}:{entry.end_byte}"),
        False,
        0,
    )
    nothing = index.context("shop.cart.Cart", top_k=1, fits=within(20))
    assert (nothing.entries, nothing.omitted) == ((), 1)


def test_context_indexes_a_file_that_changed_since_the_refresh(
    index: CodeIndex, root: Path
) -> None:
    moved = "# moved\n\n\n" + FILES["src/shop/payment.py"]
    (root / "src/shop/payment.py").write_text(moved)
    (entry, *_) = index.context("charge_card", top_k=5, fits=everything).entries
    assert entry.start_line == 4
    (root / "src/shop/payment.py").unlink()
    files = {e.file for e in index.context("charge_card", top_k=5, fits=everything).entries}
    assert "src/shop/payment.py" not in files


def test_items_that_are_not_utf_8_are_omitted(index: CodeIndex, root: Path) -> None:
    (root / "old.py").write_bytes(b"def latin_word():\n    return 'caf\xe9'\n")
    index.refresh()
    result = index.context("latin_word", top_k=1, fits=everything)
    (entry,) = result.entries
    assert (entry.whole, parse_snippets(entry.snippet)[0].content) == (False, "def latin_word():")
    (root / "old.txt").write_bytes(b"unusualword caf\xe9\n")
    index.refresh()
    result = index.context("unusualword", top_k=1, fits=everything)
    assert (result.entries, result.omitted) == ((), 1)


def test_copies_of_the_same_code_are_shown_once(index: CodeIndex, root: Path) -> None:
    write(root, {"vendor/payment.py": FILES["src/shop/payment.py"]})
    index.refresh()
    entries = index.context("charge_card", top_k=10, fits=everything).entries
    assert len({entry.snippet.split("\n", 1)[1] for entry in entries}) == len(entries)


blocks = st.sampled_from(
    [
        "def f{n}():\n    '''Do a cart thing.'''\n    return 1\n",
        "class C{n}:\n    x = 1\n\n    def cart(self): return 'é'\n",
        "cart = {n}\n",
        "# cart\n",
        "\n\n",
    ]
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    bodies=st.lists(st.lists(blocks, max_size=12), min_size=1, max_size=4),
    budget=st.integers(1, 3_000),
    top_k=st.integers(1, 20),
)
def test_context_stays_within_its_budget_with_exact_bytes(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[list[str]], budget: int, top_k: int
) -> None:
    root = tmp_path_factory.mktemp("budget")
    for number, body in enumerate(bodies):
        text = "".join(block.replace("{n}", str(place)) for place, block in enumerate(body))
        (root / f"m{number}.py").write_text(text)
    with CodeIndex.open(root, cache_dir=root.parent / f"{root.name}-cache") as index:
        index.refresh()
        result = index.context("do the cart thing", top_k=top_k, fits=within(budget))
    assert len(result.entries) <= top_k
    assert result.omitted >= 0
    assert not result.entries or within(budget)(result.entries, result.omitted)
    for entry in result.entries:
        data = (root / entry.file).read_bytes()
        (snippet,) = parse_snippets(entry.snippet)
        assert snippet.content.encode() == data[entry.start_byte : entry.end_byte]


# Files


def test_file_summary_has_language_and_items(index: CodeIndex) -> None:
    summary = index.files_summary("src/shop/payment.py")
    assert summary is not None
    assert (summary.language, summary.items, summary.lines) == ("python", 2, 3)
    assert len(summary.content_hash) == 64
    assert index.files_summary("nope.py") is None


def test_nearest_paths_are_the_most_similar(index: CodeIndex) -> None:
    assert index.nearest_paths("src/shop/payments.py", 1) == ("src/shop/payment.py",)
    assert index.nearest_paths("cart.py")[0] == "src/shop/cart.py"
    assert index.nearest_paths("zzzz") == ()


# The file on disk


def test_a_damaged_index_is_rebuilt(root: Path, tmp_path: Path) -> None:
    path = store_path(tmp_path / "cache", root.resolve())
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database" * 100)
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        assert index.refresh().added == 5


def test_an_index_that_is_damaged_later_is_rebuilt(root: Path, tmp_path: Path) -> None:
    write(root, {f"m{n}.py": f"def cart_{n}(): return {n}\n" * 20 for n in range(60)})
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        expected = found(index, "cart_7")
    path = store_path(tmp_path / "cache", root.resolve())
    data = bytearray(path.read_bytes())
    data[8192:-4096] = b"\xff" * (len(data) - 12288)
    path.write_bytes(data)
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        assert found(index, "cart_7") == expected


def test_an_index_of_another_version_is_rebuilt(root: Path, tmp_path: Path) -> None:
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
    connection = sqlite3.connect(store_path(tmp_path / "cache", root.resolve()))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        assert index.refresh().added == 5


def test_unusable_cache_folder_is_an_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be read or written"):
        CodeIndex.open(root, cache_dir=tmp_path / "file")


def test_threads_search_while_others_refresh(index: CodeIndex, root: Path) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                (root / f"t{number}.py").write_text(f"def thread_{number}_{turn}(): pass\n")
                index.refresh()
                assert found(index, f"thread_{number}_{turn}")[0].endswith(f"{number}_{turn}")
                index.context("cart", top_k=5, fits=everything)
        except BaseException as error:  # noqa: BLE001  (shown in the test's own thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _refresh_elsewhere(root: Path, cache: Path) -> None:
    with CodeIndex.open(root, cache_dir=cache) as index:
        index.refresh()


def test_processes_refresh_concurrently(root: Path, tmp_path: Path) -> None:
    write(root, {f"p{n}.py": f"def process_{n}(): pass\n" for n in range(200)})
    context = multiprocessing.get_context("spawn")
    started = [
        context.Process(target=_refresh_elsewhere, args=(root, tmp_path / "cache"))
        for _ in range(3)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0, 0, 0]
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
        assert (report.added, report.files) == (0, 205)
        assert index.search("process_42").items == report.items
    _refresh_elsewhere(root, tmp_path / "anew")
    assert contents(root, tmp_path / "cache") == contents(root, tmp_path / "anew")


def test_kill_leaves_a_usable_index(root: Path, tmp_path: Path) -> None:
    write(root, {f"k{n}.py": f"def killed_{n}(): return 'word_{n}'\n" * 20 for n in range(300)})
    script = (
        "import sys; from pathlib import Path; from treadle.code import CodeIndex;"
        "from treadle.code.storage import refresh;"
        "refresh._BATCH_BYTES = 1000;"
        "CodeIndex.open(Path(sys.argv[1]), cache_dir=Path(sys.argv[2])).refresh("
        "lambda done, total: print(done, flush=True))"
    )
    arguments = [sys.executable, "-c", script, str(root), str(tmp_path / "cache")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
        assert 0 < report.added < 305
        assert report.files == 305
        assert found(index, "killed_299")[0] == "k299.killed_299"


def test_processes_that_create_an_index_wait_for_each_other(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from treadle.code.storage.store import Store\n"
    code += "Store(Path(sys.argv[1])).close()"
    for number in range(5):
        words = [sys.executable, "-c", code, str(tmp_path / f"{number}.sqlite3")]
        makers = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        said = [maker.communicate(timeout=60)[1] for maker in makers]
        assert [maker.returncode for maker in makers] == [0] * 4, said
