"""What the code of each language refers to, and that nothing is guessed by its name alone."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from treadle.code import CodeIndex, Direction, Edge, EdgeKind
from treadle.code.graph.language_rules import SEPARATORS
from treadle.code.languages import LANGUAGES

Build = Callable[[Mapping[str, str]], CodeIndex]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    opened: list[CodeIndex] = []

    def make(files: Mapping[str, str]) -> CodeIndex:
        for name, content in files.items():
            place = tmp_path / "root" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)
        opened.append(CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache"))
        opened[-1].refresh()
        return opened[-1]

    yield make
    for index in opened:
        index.close()


def out(index: CodeIndex, name: str, *kinds: EdgeKind) -> dict[str, str | None]:
    """What an item refers to: the text as written to the canonical path, or to None."""
    item = index.lookup(name).items[0]
    found = index.edges(item.id, kinds=kinds or tuple(EdgeKind), direction=Direction.OUT)
    return {
        edge.text: edge.target.canonical_path if edge.target else None
        for edge in found.edges
        if edge.text
    }


def into(index: CodeIndex, name: str, *kinds: EdgeKind, file: str | None = None) -> set[str]:
    """The canonical paths of what refers to an item, as far as it is resolved."""
    return {
        edge.source.canonical_path for edge in _incoming(index, name, kinds, file) if edge.target
    }


def maybe_into(
    index: CodeIndex, name: str, *kinds: EdgeKind, file: str | None = None
) -> dict[str, str | None]:
    """What may refer to an item: `path of the source: text` to the reason why it is not sure."""
    return {
        f"{edge.source.canonical_path}: {edge.text}": edge.unresolved
        for edge in _incoming(index, name, kinds, file)
        if edge.target is None
    }


def _incoming(
    index: CodeIndex, name: str, kinds: tuple[EdgeKind, ...], file: str | None
) -> tuple[Edge, ...]:
    item = index.lookup(name, file=file).items[0]
    return index.edges(item.id, kinds=kinds, direction=Direction.IN).edges


PYTHON = {
    "src/shop/__init__.py": "from .store import Store as Shop\n",
    "src/shop/store.py": """
import json
from json import dumps
from . import money
from .base import Base, open_all as open_every

class Store(Base):
    till: "money.Till"

    def __init__(self, till: "money.Till") -> None:
        self.till = till
        self.backup = money.Till()

    def sell(self, thing, run) -> None:
        self.count(thing)
        self.till.add(1)
        self.backup.take(2)
        self.close()
        open_every()
        money.rounded(1)
        run()
        thing.add(3)
        dumps({})
        json.loads("")
        load()
        super().open()

    def count(self, thing): ...

def run(): ...

def dumps_of(store: Store):
    store.sell(1, 2)
    other = Store(None)
    other.count(1)
    other.missing()
""",
    "src/shop/base.py": """
class Base:
    def close(self): ...
    def open(self): ...
    def count(self, thing): ...

def open_all(): ...
""",
    "src/shop/money.py": """
class Till:
    def add(self, n): ...
    def take(self, n): ...

def rounded(n): return n

def loads(n): return n
""",
    "src/other/load.py": "def load(): ...\n\ndef dumps(): ...\n",
    "tests/test_store.py": """
from shop import Shop
from shop.store import Store

def test_selling():
    Shop(None).sell(1, 2)
    store = Store(None)
    store.sell(1, 2)
""",
}


def test_python_calls_resolve_by_scope_and_imports(build: Build) -> None:
    index = build(PYTHON)
    assert out(index, "Store.sell", EdgeKind.CALLS) == {
        "self.count": "shop.store.Store.count",
        "self.till.add": "shop.money.Till.add",
        "self.backup.take": "shop.money.Till.take",
        "self.close": "shop.base.Base.close",
        "open_every": "shop.base.open_all",
        "money.rounded": "shop.money.rounded",
        "run": None,  # a parameter, not the function of the module
        "thing.add": None,
        "dumps": None,  # of the library, not that of other/load.py
        "json.loads": None,
        "load": None,  # imported from nowhere
        "super().open": "shop.base.Base.open",
        "super": "shop.base.Base",
    }
    assert out(index, "dumps_of", EdgeKind.CALLS) == {
        "store.sell": "shop.store.Store.sell",
        "Store": "shop.store.Store",
        "other.count": "shop.store.Store.count",
        "other.missing": None,
    }


def test_unresolved_edge_has_a_reason(build: Build) -> None:
    index = build(PYTHON)
    item = index.lookup("Store.sell").items[0]
    reasons = {edge.text: edge.unresolved for edge in index.edges(item.id).edges if edge.text}
    assert reasons["dumps"] == "imported from outside of the repository"
    assert reasons["thing.add"] == "the type of the value is not known"
    assert reasons["load"] == "no reachable definition"
    assert reasons["self.count"] is None


def test_python_edges_are_found_from_their_targets(build: Build) -> None:
    index = build(PYTHON)
    assert into(index, "Store.sell", EdgeKind.CALLS) == {
        "shop.store.dumps_of",
        "tests.test_store.test_selling",
    }
    assert into(index, "Store.sell", EdgeKind.TESTS) == {"tests.test_store.test_selling"}
    assert into(index, "base.Base", EdgeKind.INHERITS) == {"shop.store.Store"}
    assert into(index, "Base.count", EdgeKind.OVERRIDES) == {"shop.store.Store.count"}
    assert into(index, "shop.money", EdgeKind.IMPORTS) == {"shop.store"}
    assert into(index, "shop.store.Store", EdgeKind.CALLS) == {
        "shop.store.dumps_of",
        "tests.test_store.test_selling",
    }
    assert into(index, "open_all", EdgeKind.CALLS) == {"shop.store.Store.sell"}
    assert into(index, "rounded", EdgeKind.CONTAINS) == {"shop.money"}
    assert into(index, "load", EdgeKind.CALLS, file="src/other/load.py") == set()


TYPESCRIPT = {
    "src/store.ts": """
import { Base, type Money as Cash } from "./base.js";
import * as tools from "./tools";
import makeLog from "./log";
import { readFile } from "fs";

export class Store extends Base implements Closable {
  private spare = new Till();
  constructor(private readonly till: Till) { super(); }
  sell(thing: Cash, log: () => void) {
    this.count();
    this.till.add(1);
    this.spare.take(1);
    this.close();
    tools.rounded(2);
    tools.deep(2);
    makeLog();
    readFile("x");
    log();
    thing.add();
    const { rounded } = thing;
    rounded(1);
  }
  count() {}
}
export class Till { add(n: number) {} take(n: number) {} }
export interface Closable { close(): void }
function log() {}
""",
    "src/base.ts": "export class Base { close() {} }\nexport interface Money { add(): void }\n",
    "src/tools/index.ts": 'export function rounded() {}\nexport { dive as deep } from "./deep";\n',
    "src/tools/deep.ts": "export function dive() {}\n",
    "src/log.ts": "export default function log() {}\n",
    "src/other.ts": "export function readFile() {}\n",
    "src/store.test.ts": 'import { Store } from "./store";\nnew Store(null).sell();\n',
}


def test_typescript(build: Build) -> None:
    index = build(TYPESCRIPT)
    assert out(index, "Store.sell", EdgeKind.CALLS) == {
        "this.count": "src/store.Store.count",
        "this.till.add": "src/store.Till.add",
        "this.spare.take": "src/store.Till.take",
        "this.close": "src/base.Base.close",
        "tools.rounded": "src/tools/index.rounded",
        "tools.deep": "src/tools/deep.dive",
        "makeLog": "src/log.log",
        "readFile": None,
        "log": None,
        "thing.add": "src/base.Money.add",
        "rounded": None,
    }
    assert out(index, "Store", EdgeKind.INHERITS) == {
        "Base": "src/base.Base",
        "Closable": "src/store.Closable",
    }
    assert into(index, "deep.dive", EdgeKind.CALLS) == {"src/store.Store.sell"}  # as `deep`
    assert into(index, "src/tools/index", EdgeKind.IMPORTS) == {"src/store"}
    assert into(index, "src/store.Store", EdgeKind.TESTS) == {"src/store.test"}
    assert into(index, "log.log", EdgeKind.CALLS) == {"src/store.Store.sell"}


RUST = {
    "Cargo.toml": '[package]\nname = "shop-core"\n',
    "src/lib.rs": "pub mod store;\nmod money;\npub use store::Store;\n",
    "src/money.rs": """
pub struct Till;
impl Till { pub fn add(&self) {} pub fn take(&self) {} }
pub fn rounded() {}
""",
    "src/store/mod.rs": """
use crate::money::{self, Till};
use std::mem::swap;
pub trait Close { fn close(&self); }
pub struct Store { till: Till }
impl Store {
    pub fn new() -> Self { Store { till: Till } }
    pub fn sell(&self, till: &Till, rounded: fn()) {
        self.count();
        self.till.add();
        till.take();
        Self::new();
        money::rounded();
        rounded();
        swap();
        helper();
        self.close();
        let x = unknown();
        x.add();
    }
    fn count(&self) {}
}
impl Close for Store { fn close(&self) {} }
fn helper() {}
fn swap() {}
#[cfg(test)]
mod tests {
    use super::*;
    fn t() { helper(); Store::new(); }
}
""",
    "tests/it.rs": "use shop_core::Store;\nfn works() { Store::new(); serde::helper(); }\n",
}


def test_rust(build: Build) -> None:
    index = build(RUST)
    assert out(index, "Store::sell", EdgeKind.CALLS) == {
        "self.count": "crate::store::Store::count",
        "self.till.add": "crate::money::Till::add",
        "till.take": "crate::money::Till::take",
        "Self::new": "crate::store::Store::new",
        "money::rounded": "crate::money::rounded",
        "rounded": None,
        "swap": "crate::store::swap",
        "helper": "crate::store::helper",
        "self.close": "crate::store::Store::close",
        "unknown": None,
        "x.add": None,
    }
    assert into(index, "store::helper", EdgeKind.CALLS) == {
        "crate::store::Store::sell",
        "crate::store::tests::t",
    }
    assert into(index, "Store::new", EdgeKind.TESTS) == {"crate::store::tests::t", "crate::works"}
    assert "crate::store::Store" in into(index, "store::Close", EdgeKind.INHERITS)
    assert into(index, "Close::close", EdgeKind.OVERRIDES) == {"crate::store::Store::close"}


GO = {
    "go.mod": "module example.com/shop // ours\n\ngo 1.22\n",
    "store/store.go": """package store

import (
	"fmt"
	cash "example.com/shop/money"
	"github.com/other/money"
)

type Base struct{}

func (b *Base) Close() {}

type Store struct {
	Base
	till *cash.Till
}

func (s *Store) Sell(till cash.Till, run func()) {
	s.count()
	s.till.Add()
	till.Take()
	s.Close()
	helper()
	cash.Rounded()
	money.Rounded()
	fmt.Println()
	run()
	made := &Store{}
	made.again()
	got := cash.Rounded()
	got.Add()
}

func (s *Store) count() {}

func (s *Store) again() {}
""",
    "store/more.go": "package store\n\nfunc helper() {}\n\nfunc run() {}\n",
    "money/money.go": """package money

type Till struct{}

func (t Till) Add() {}

func (t Till) Take() {}

func Rounded() {}
""",
    "store/store_test.go": "package store\n\nfunc TestIt() { helper() }\n",
}


def test_go(build: Build) -> None:
    index = build(GO)
    assert out(index, "Store.Sell", EdgeKind.CALLS) == {
        "s.count": "store.Store.count",
        "s.till.Add": "money.Till.Add",
        "till.Take": "money.Till.Take",
        "s.Close": "store.Base.Close",
        "helper": "store.helper",
        "cash.Rounded": "money.Rounded",
        "money.Rounded": None,
        "fmt.Println": None,
        "run": None,
        "Store": "store.Store",
        "made.again": "store.Store.again",
        "got.Add": None,
    }
    assert into(index, "store.helper", EdgeKind.TESTS) == {"store.TestIt"}
    assert into(index, "store.Base", EdgeKind.INHERITS) == {"store.Store"}


JAVA = {
    "src/main/java/shop/Store.java": """package shop;

import java.util.List;
import shop.money.Till;
import static shop.money.Tools.rounded;
import other.lib.Helper;

public class Store extends Base implements Closable {
    private final Till till;
    public Store(Till till) { this.till = till; }
    public void sell(Till other, List<Till> all) {
        count();
        this.recount();
        till.add();
        other.take();
        close();
        rounded();
        Helper.help();
        all.add(1);
        var made = new Till();
        made.drop();
        Near.near();
    }
    private void count() {}
    private void recount() {}
}
""",
    "src/main/java/shop/Base.java": "package shop;\nclass Base { void close() {} }\n",
    "src/main/java/shop/Closable.java": "package shop;\ninterface Closable { void close(); }\n",
    "src/main/java/shop/Near.java": "package shop;\nclass Near { static void near() {} }\n",
    "src/main/java/shop/money/Till.java": """package shop.money;
public class Till { void add() {} void take() {} void drop() {} }
""",
    "src/main/java/shop/money/Tools.java": """package shop.money;
class Tools { static void rounded() {} }
""",
    "src/main/java/far/Helper.java": "package far;\nclass Helper { static void help() {} }\n",
}


def test_java(build: Build) -> None:
    index = build(JAVA)
    assert out(index, "Store.sell", EdgeKind.CALLS) == {
        "count": "shop.Store.count",
        "this.recount": "shop.Store.recount",
        "till.add": "shop.money.Till.add",
        "other.take": "shop.money.Till.take",
        "close": "shop.Base.close",
        "rounded": "shop.money.Tools.rounded",
        "Helper.help": None,
        "all.add": None,
        "Till": "shop.money.Till",
        "made.drop": "shop.money.Till.drop",
        "Near.near": "shop.Near.near",
    }
    assert into(index, "shop.Closable", EdgeKind.INHERITS) == {"shop.Store"}
    assert into(index, "shop.money.Till", EdgeKind.IMPORTS) == {"src/main/java/shop/Store.java"}


def test_a_changed_file_changes_edges_of_other_files(build: Build) -> None:
    index = build(PYTHON)
    (index.root / "src/shop/money.py").write_text("class Till: ...\n")
    index.refresh()
    assert out(index, "Store.sell", EdgeKind.CALLS)["self.till.add"] is None
    assert into(index, "money.Till", EdgeKind.USES_TYPE) >= {"shop.store.Store"}


def test_walks_end_at_the_requested_depth(build: Build) -> None:
    index = build({"a.py": "def a(): b()\ndef b(): c()\ndef c(): d()\ndef d(): a()\n"})
    item = index.lookup("a.a").items[0]

    def reached(depth: int) -> list[tuple[str, int]]:
        walked = index.edges(item.id, kinds=[EdgeKind.CALLS], direction=Direction.OUT, depth=depth)
        return [(edge.target.name, edge.step) for edge in walked.edges if edge.target]

    assert reached(1) == [("b", 1)]
    assert reached(9) == [("b", 1), ("c", 2), ("d", 3), ("a", 4)]


def test_circular_imports_are_resolved(build: Build) -> None:
    index = build(
        {
            "a.py": "from b import *\nfrom b import gone\ngone()\n"
            "class A(B): ...\nclass B(A): ...\n",
            "b.py": "from a import *\nfrom a import gone\n",
        }
    )
    assert out(index, "a", EdgeKind.CALLS) == {"gone": None}
    assert out(index, "a.A", EdgeKind.INHERITS) == {"B": "a.B"}


CARGO = {
    "Cargo.toml": '[package]\nname = "tool"\n[lib]\nname = "toolkit"\npath = "src/kit/start.rs"\n'
    '[[bin]]\nname = "tool"\npath = "src/run/start.rs"\n',
    "src/kit/start.rs": "pub mod config;\npub mod lev;\nmod inner { pub mod deep; }\n",
    "src/kit/lev.rs": "pub fn closest() {}\npub fn other() {}\n",
    "src/kit/inner/deep.rs": "fn d() { super::super::lev::closest(); }\n",
    "src/kit/config/mod.rs": """
pub struct Config;
impl Config { pub fn lock(&self) {} }
fn c(value: u8) { println!("{}", crate::lev::closest()); }
""",
    "src/kit/config/more.rs": """
use super::Config;
impl Config { pub fn more(&self) { self.lock(); } }
fn m<T: Lock>(config: &Config) { config.more(); T::lock(); make().lock(); crate::lev::other(); }
""",
    "src/run/start.rs": "use toolkit::lev::closest;\nfn main() { closest(); }\n",
    "src/bin/extra.rs": "fn lev() {}\nfn main() { crate::lev(); toolkit::lev::closest(); }\n",
    "tests/it.rs": "mod common;\nfn t() { common::help(); vec![toolkit::lev::closest()]; }\n",
    "tests/common/mod.rs": "pub fn help() {}\n",
}


def test_rust_crates_begin_at_the_root_files_of_cargo(build: Build) -> None:
    index = build(CARGO)
    assert into(index, "lev::closest", EdgeKind.CALLS) == {
        "crate::kit::inner::deep::d",
        "crate::kit::config::c",
        "crate::run::start::main",
        "crate::main",
        "crate::t",
    }
    assert into(index, "lev::other", EdgeKind.CALLS) == {"crate::kit::config::more::m"}
    assert into(index, "crate::lev", EdgeKind.CALLS, file="src/bin/extra.rs") == {"crate::main"}
    assert into(index, "help", EdgeKind.CALLS) == {"crate::t"}


def test_rust_impl_blocks_of_other_modules_belong_to_the_type(build: Build) -> None:
    index = build(CARGO)
    assert into(index, "Config::lock", EdgeKind.CALLS) == {"crate::kit::config::more::Config::more"}
    assert into(index, "Config::more", EdgeKind.CALLS) == {"crate::kit::config::more::m"}


def test_possible_uses_of_an_item_are_listed(build: Build) -> None:
    index = build(CARGO)
    assert maybe_into(index, "Config::lock", EdgeKind.CALLS) == {
        "crate::kit::config::more::m: T::lock": "the type of the value is not known",
        "crate::kit::config::more::m: make().lock": "no reachable definition",
    }


def test_uses_of_a_name_that_cannot_mean_an_item_are_left_out(build: Build) -> None:
    index = build(PYTHON)
    assert maybe_into(index, "Till.add", EdgeKind.CALLS) == {
        "shop.store.Store.sell: thing.add": "the type of the value is not known"
    }
    assert maybe_into(index, "money.loads", EdgeKind.CALLS) == {}  # json.loads is not it
    assert maybe_into(index, "Base.count", EdgeKind.CALLS) == {}  # all are Store.count
    assert maybe_into(index, "load.load", EdgeKind.CALLS) == {
        "shop.store.Store.sell: load": "no reachable definition"
    }


def test_calls_of_the_overridden_method_may_mean_the_override(build: Build) -> None:
    index = build(
        {"a.py": "class A:\n def go(self): ...\nclass B(A):\n def go(self): ...\n"
         "def run(a: A): a.go()\n"}
    )  # fmt: skip
    assert into(index, "A.go", EdgeKind.CALLS) == {"a.run"}
    assert maybe_into(index, "B.go", EdgeKind.CALLS) == {
        "a.run: a.go": "calls what this overrides or implements"
    }


def test_go_methods_are_not_called_by_their_bare_name(build: Build) -> None:
    index = build({"a.go": "package a\n\ntype T struct{}\n\nfunc (t T) Mark() { Mark() }\n\n"
                   "func Mark() {}\n"})  # fmt: skip
    assert out(index, "a.T.Mark", EdgeKind.CALLS) == {"Mark": "a.Mark"}


def test_graph_splits_paths_like_the_languages() -> None:
    for language in LANGUAGES:
        parts = tuple(filter(None, (language.member_separator, language.separator)))
        assert SEPARATORS.get(language.name, (".",)) == parts, language.name


def test_own_functions_with_the_name_of_a_builtin_are_found(build: Build) -> None:
    """Where names come from other files without an import by name, one may replace a builtin."""
    index = build(
        {
            "go.mod": "module example.com/shop\n",
            "shop/limits.go": "package shop\n\nfunc min(a, b int) int { return a }\n",
            "shop/cart.go": "package shop\n\nfunc Price() int { return min(len(x), cap(x)) }\n",
            "other/cart.go": "package other\n\nfunc Price() int { return min(1, 2) }\n",
            "tools.py": "def open(place): ...\n",
            "use.py": "from tools import *\n\ndef read():\n    return len(open(1))\n",
            "plain.py": "def read():\n    return open(1)\n",
        }
    )
    assert out(index, "shop.Price") == {"min": "shop.min"}
    assert out(index, "use.read") == {"open": "tools.open"}
    assert into(index, "shop.min", EdgeKind.CALLS) == {"shop.Price"}
    assert into(index, "tools.open", EdgeKind.CALLS) == {"use.read"}
    assert maybe_into(index, "shop.min", EdgeKind.CALLS) == {}
    assert maybe_into(index, "tools.open", EdgeKind.CALLS) == {}
