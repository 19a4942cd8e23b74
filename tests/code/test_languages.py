"""What each language yields: kinds, canonical paths and exact ranges."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from treadle.code.languages import LANGUAGES, language_of
from treadle.code.model import Kind
from treadle.code.parse.content import IndexedItem, read_content


def items(path: str, source: str) -> list[IndexedItem]:
    return read_content(path, source.encode(), language_of(path)).items


def outline(path: str, source: str) -> list[tuple[str, str, int, int]]:
    return [
        (
            found.item.kind.value,
            found.item.canonical_path,
            found.item.start_line,
            found.item.end_line,
        )
        for found in items(path, source)
    ]


PYTHON = '''\
"""What it is for."""
import os

LIMIT = 3
"""Of what."""


# Above.
@decorated
class Outer(Base):
    """Doc."""

    @property
    def inner(self) -> int:
        """Inner doc."""
        def helper(): ...
        return 1


if True:
    async def late(): pass
type Alias = int
'''

RUST = """\
//! Crate.
use std::fmt;
/// A thing.
#[derive(Debug)]
pub struct Thing<T> { x: T }
impl<'a, T> fmt::Display for &'a Thing<T> {
    // one
    fn fmt(&self) {}
}
mod inner {
    pub trait Speak { fn speak(&self); }
    pub const N: u8 = 1; // trailing
    macro_rules! shout { () => {} }
}
cfg_net! {
    impl Thing<u8> { pub fn hidden(&self) { } }
}
pub enum E { A }
type Short = u8;
"""

TYPESCRIPT = """\
import x from "x";
/** Doc. */
@Component()
export abstract class Widget<T> extends Base {
  @Input() size = 1;
  run = async () => { const local = () => 1; };
  abstract stop(): void;
  get value() { return 1; }
}
export const make = (a: number) => a, SIZE = 2;
export interface Shape { area(): number; }
export type Id = string;
export enum Color { Red }
namespace Deep { export function dive() {} }
export default function main() {}
"""

GO = """\
package server

import "fmt"

// Server serves.
type Server[T any] struct{ x T }

// Run runs.
func (s *Server[T]) Run() { fmt.Println() }

func New() {}

const (
	// A is one.
	A = 1
	B = 2
)

type Runner interface {
	Run()
}
"""

JAVA = """\
package com.example.app;

import java.util.List;

/** Doc. */
@Deprecated
public class Box<T> {
    static final int MAX = 1;
    private int plain;
    public Box() {}
    /** Get. */
    T get() { return null; }
    enum State { ON; void flip() {} }
    record Point(int x) {}
}
interface Shape { int SIDES = 3; void draw(); }
"""

C = """\
#include <x.h>
/* Adds. */
static int *add(int a, int b) { int local(int); return 0; }
#define TWICE(x) ((x) * 2)
#define LIMIT 10
struct point { int x; };
typedef struct { int y; } other_t;
enum color { RED };
int declared(void);
static const int answer = 42;
"""

CPP = """\
namespace a::b {
template <class T>
class Box : Base {
 public:
  Box();
  int get() const { return 1; }
};
using Short = int;
}
int a::b::Box<int>::get() const { return 2; }
bool operator==(const X& l, const X& r) { return true; }
X& X::operator<<(int v) { return *this; }
"""


def test_python() -> None:
    assert outline("project/src/package/sub/__init__.py", PYTHON) == snapshot(
        [
            ("constant", "package.sub.LIMIT", 4, 5),
            ("class", "package.sub.Outer", 8, 17),
            ("method", "package.sub.Outer.inner", 13, 17),
            ("function", "package.sub.Outer.inner.helper", 16, 16),
            ("function", "package.sub.late", 21, 21),
            ("type", "package.sub.Alias", 22, 22),
            ("chunk", "project/src/package/sub/__init__.py:2-2", 2, 2),
            ("chunk", "project/src/package/sub/__init__.py:20-20", 20, 20),
            ("module", "package.sub", 1, 22),
        ]
    )


def test_rust() -> None:
    assert outline("crates/one/src/net/mod.rs", RUST) == snapshot(
        [
            ("struct", "crate::net::Thing", 3, 5),
            ("impl", "crate::net::Thing", 6, 9),
            ("method", "crate::net::Thing::fmt", 7, 8),
            ("module", "crate::net::inner", 10, 14),
            ("trait", "crate::net::inner::Speak", 11, 11),
            ("method", "crate::net::inner::Speak::speak", 11, 11),
            ("constant", "crate::net::inner::N", 12, 12),
            ("macro", "crate::net::inner::shout", 13, 13),
            ("impl", "crate::net::Thing", 16, 16),
            ("method", "crate::net::Thing::hidden", 16, 16),
            ("enum", "crate::net::E", 18, 18),
            ("constant", "crate::net::E::A", 18, 18),
            ("type", "crate::net::Short", 19, 19),
            ("chunk", "crates/one/src/net/mod.rs:2-2", 2, 2),
            ("chunk", "crates/one/src/net/mod.rs:15-15", 15, 15),
            ("module", "crate::net", 1, 19),
        ]
    )


def test_typescript() -> None:
    assert outline("src/ui/widget.ts", TYPESCRIPT) == snapshot(
        [
            ("class", "src/ui/widget.Widget", 2, 9),
            ("method", "src/ui/widget.Widget.run", 6, 6),
            ("function", "src/ui/widget.Widget.run.local", 6, 6),
            ("method", "src/ui/widget.Widget.stop", 7, 7),
            ("method", "src/ui/widget.Widget.value", 8, 8),
            ("function", "src/ui/widget.make", 10, 10),
            ("constant", "src/ui/widget.SIZE", 10, 10),
            ("interface", "src/ui/widget.Shape", 11, 11),
            ("method", "src/ui/widget.Shape.area", 11, 11),
            ("type", "src/ui/widget.Id", 12, 12),
            ("enum", "src/ui/widget.Color", 13, 13),
            ("constant", "src/ui/widget.Color.Red", 13, 13),
            ("module", "src/ui/widget.Deep", 14, 14),
            ("function", "src/ui/widget.Deep.dive", 14, 14),
            ("function", "src/ui/widget.main", 15, 15),
            ("chunk", "src/ui/widget.ts:1-1", 1, 1),
            ("module", "src/ui/widget", 1, 15),
        ]
    )


def test_javascript() -> None:
    source = "exports.run = function () {};\nclass A { go = () => 1; stop() {} }\nvar n = 1;\n"
    assert outline("lib/run.js", source) == snapshot(
        [
            ("function", "lib/run.run", 1, 1),
            ("class", "lib/run.A", 2, 2),
            ("method", "lib/run.A.go", 2, 2),
            ("method", "lib/run.A.stop", 2, 2),
            ("constant", "lib/run.n", 3, 3),
            ("module", "lib/run", 1, 3),
        ]
    )


def test_tsx() -> None:
    assert outline("app.tsx", "export const App = () => <div>hi</div>;\n") == snapshot(
        [("function", "app.App", 1, 1), ("module", "app", 1, 1)]
    )


def test_go() -> None:
    assert outline("server/run.go", GO) == snapshot(
        [
            ("struct", "server.Server", 5, 6),
            ("method", "server.Server.Run", 8, 9),
            ("function", "server.New", 11, 11),
            ("constant", "server.A", 14, 15),
            ("constant", "server.B", 16, 16),
            ("interface", "server.Runner", 19, 21),
            ("method", "server.Runner.Run", 20, 20),
            ("chunk", "server/run.go:1-3", 1, 3),
            ("chunk", "server/run.go:13-13", 13, 13),
            ("module", "server", 1, 21),
        ]
    )


def test_java() -> None:
    assert outline("Box.java", JAVA) == snapshot(
        [
            ("class", "com.example.app.Box", 5, 15),
            ("constant", "com.example.app.Box.MAX", 8, 8),
            ("method", "com.example.app.Box.Box", 10, 10),
            ("method", "com.example.app.Box.get", 11, 12),
            ("enum", "com.example.app.Box.State", 13, 13),
            ("constant", "com.example.app.Box.State.ON", 13, 13),
            ("method", "com.example.app.Box.State.flip", 13, 13),
            ("class", "com.example.app.Box.Point", 14, 14),
            ("interface", "com.example.app.Shape", 16, 16),
            ("constant", "com.example.app.Shape.SIDES", 16, 16),
            ("method", "com.example.app.Shape.draw", 16, 16),
            ("chunk", "Box.java:1-3", 1, 3),
            ("module", "Box.java", 1, 16),
        ]
    )


def test_c() -> None:
    assert outline("add.h", C) == snapshot(
        [
            ("function", "add", 2, 3),
            ("macro", "TWICE", 4, 4),
            ("constant", "LIMIT", 5, 5),
            ("struct", "point", 6, 6),
            ("type", "other_t", 7, 7),
            ("enum", "color", 8, 8),
            ("constant", "color::RED", 8, 8),
            ("function", "declared", 9, 9),
            ("constant", "answer", 10, 10),
            ("chunk", "add.h:1-1", 1, 1),
            ("module", "add.h", 1, 10),
        ]
    )


def test_cpp() -> None:
    assert outline("box.cpp", CPP) == snapshot(
        [
            ("module", "a::b", 1, 9),
            ("class", "a::b::Box", 2, 7),
            ("method", "a::b::Box::Box", 5, 5),
            ("method", "a::b::Box::get", 6, 6),
            ("type", "a::b::Short", 8, 8),
            ("method", "a::b::Box::get", 10, 10),
            ("function", "operator==", 11, 11),
            ("method", "X::operator<<", 12, 12),
            ("module", "box.cpp", 1, 12),
        ]
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/lib.rs", "crate"),
        ("src/a/b.rs", "crate::a::b"),
        ("tests/it.rs", "crate"),
        ("src/bin/tool.rs", "crate"),
        ("src/bin/tool/main.rs", "crate"),
        ("src/bin/tool/commands/add.rs", "crate::commands::add"),
        ("src/bin/mod.rs", "crate::bin"),
        ("pkg/build.rs", "crate"),
        ("pkg/tool.py", "pkg.tool"),
        ("web/index.d.ts", "web/index"),
    ],
)
def test_the_file_itself_is_a_module(path: str, expected: str) -> None:
    module = items(path, "")[-1].item
    assert (module.kind, module.canonical_path) == (Kind.MODULE, expected)


def test_signature_and_doc() -> None:
    found = {entry.item.name: entry.item for entry in items("m.py", PYTHON)}
    source = PYTHON.encode()
    inner, outer = found["inner"], found["Outer"]
    assert source[inner.signature_start : inner.signature_end] == b"def inner(self) -> int:"
    assert source[outer.start_byte :].startswith(b"# Above.\n@decorated")
    assert inner.doc == '@property\n        """Inner doc."""' or inner.doc == '"""Inner doc."""'
    assert found["LIMIT"].end_line == 5


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_items_of_broken_code_are_found(language: object) -> None:
    sources = {
        "python": "def good(): pass\nclass (((\n",
        "rust": "fn good() {}\nimpl {{{ ",
        "go": "package p\nfunc good() {}\nfunc (((",
        "java": "class A { void good() {} ",
        "c": "int good(void) { return 1; }\nint (((",
        "ruby": "def good\nend\nclass (((\n",
        "php": "<?php\nfunction good() {}\nclass (((\n",
        "kotlin": "fun good() {}\nclass (((\n",
        "swift": "func good() {}\nclass (((\n",
        "bash": "good() { :; }\nif then fi (((\n",
        "csharp": "class A { void good() {} ",
        "cpp": "int good() { return 1; }\nclass {{{",
    }
    name = getattr(language, "name", "")
    suffix = getattr(language, "extensions", ("",))[0]
    source = sources.get(name, "function good() {}\nclass {{{")
    assert "good" in {entry.item.name for entry in items(f"x{suffix}", source)}


def test_names_of_items_are_found_in_their_terms(tmp_path: Path) -> None:
    (found, *_) = items("m.py", "def parseHTTPResponse_v2(): pass\n")
    assert {"pars", "http", "respons", "parsehttpresponsev2"} <= found.terms.keys()
