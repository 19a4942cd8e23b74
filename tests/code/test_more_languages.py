"""What the further languages and texts with an outline yield, broken files too."""

import pytest

from treadle.code.languages import language_of
from treadle.code.parse.content import read_content

SOURCES = {
    "docs/guide.md": """\
Before.

# Guide

Text.

```sh
# no heading
```

## Use it

More.

Other
-----

End.
""",
    "a.toml": '''\
title = "x"
list = [
  1,
]

[tool.one]
a = """
[no.table]
"""

[[tool.two]]
b = [
''',
    "a.yaml": """\
# Comment
name: x
on:
  push:
    - a
"quoted key": |
  name: no
broken: [
""",
    "a.json": """\
{
  "name": "x", // why
  "scripts": {"a": "b, }"},
  "list": [1, {"deep": 2}],
  "broken": {"x":
""",
    "shop/Scoped.cs": """\
using System;
namespace Acme.Shop;
/// <summary>A cart.</summary>
public class Cart {
  public int Total() => 1;
}
""",
    "shop/Box.cs": """\
using System;
using Alias = Foo.Bar;
namespace Acme.Shop {
  /// <summary>Doc.</summary>
  [Serializable]
  public class Box<T> : Base, IShape {
    public const int Max = 1;
    private readonly Store _store;
    public string Name { get; set; }
    public Box(Store s) { _store = s; }
    public async Task<int> Get(int a) { Store x = new Store(); _store.Write(a); return Helper(a); }
    public event EventHandler Changed;
    delegate void D(int x);
  }
  public interface IShape { void Draw(); }
  enum State { On }
  record Point(int X);
  struct S { }
}
""",
    "lib/box.rb": """\
require 'json'
require_relative './x'
module Acme
  LIMIT = 3
  class Box < Base
    include Shape
    attr_reader :name
    def initialize(a) = @a = a
    def get(x)
      helper(x); self.run; Store.new.write; @a.b
    end
    def self.make; end
    class << self
      def build; end
    end
  end
end
""",
    "src/Box.php": """\
<?php
namespace Acme\\Shop;
use Foo\\Bar as Baz;
use function Foo\\f;
const X = 1;
#[Attr]
class Box extends Base implements Shape {
  use Helps;
  const MAX = 1;
  private Store $store;
  public function get(int $a): Store { return new Store(); }
}
interface Shape { function draw(); }
trait Helps { function help() {} }
enum Suit { case A; }
function helper() {}
""",
    "shop/Box.kt": """\
package acme.shop
import foo.Bar
const val MAX = 1
@Ann
class Box<T>(private val store: Store) : Base(), Shape {
  fun get(a: Int): Int { store.write(a); return helper(a) }
  companion object {
    fun make() = 1
    const val Z = 2
  }
}
interface Shape {
  fun draw()
}
object Single { fun x() {} }
enum class State { ON }
typealias Id = String
fun helper(a: Int) = a
""",
    "Box.swift": """\
import Foundation
/// Doc
@objc public class Box<T>: Base, Shape {
  static let max = 1
  let store: Store
  init(s: Store) { store = s }
  func get(_ a: Int) -> Int { store.write(a); let x = Store(); return helper(a) }
}
protocol Shape { func draw() }
struct P { var x: Int }
enum State { case on; func f() {} }
extension Box: Other { func more() { self.get(1) } }
typealias Id = String
let top = 3
func helper(_ a: Int) -> Int { a }
actor A {}
""",
    "run.sh": """\
#!/bin/bash
source ./lib.sh
readonly MAX=3
NAME=x
# Doc.
function run { helper "$1"; }
helper() { echo hi; run; }
export FOO=1
""",
    "broken.cs": """\
namespace A {
  class B {
    void Good() {}
    void ((
""",
    "header.h": """\
#pragma once
// class Not;
namespace a {
class B { int get(); };
}
""",
    "plain.h": """\
#ifdef __cplusplus
extern "C" { namespace x {}
#endif
int plain(void);
""",
}

EXPECTED = {
    "docs/guide.md": [
        "parsed",
        "section docs/guide.md > Guide 3-18",
        "section docs/guide.md > Guide > Use it 11-13",
        "section docs/guide.md > Guide > Other 15-18",
        "chunk docs/guide.md:1-1 1-1",
    ],
    "a.toml": [
        "parsed",
        "key a.toml > title 1-1",
        "key a.toml > list 2-4",
        "key a.toml > tool.one 6-9",
        "key a.toml > tool.two 11-12",
    ],
    "a.yaml": [
        "parsed",
        "key a.yaml > name 1-2",
        "key a.yaml > on 3-5",
        "key a.yaml > quoted key 6-7",
        "key a.yaml > broken 8-8",
    ],
    "a.json": [
        "parsed",
        "key a.json > name 2-2",
        "key a.json > scripts 3-3",
        "key a.json > list 4-4",
        "key a.json > broken 5-5",
    ],
    "shop/Scoped.cs": [
        "parsed",
        "class Acme.Shop.Cart 3-6",
        "method Acme.Shop.Cart.Total 5-5",
        "chunk shop/Scoped.cs:1-2 1-2",
        "module shop/Scoped.cs 1-6",
    ],
    "shop/Box.cs": [
        "parsed",
        "module Acme.Shop 3-19",
        "class Acme.Shop.Box 4-14",
        "constant Acme.Shop.Box.Max 7-7",
        "method Acme.Shop.Box.Name 9-9",
        "method Acme.Shop.Box.Box 10-10",
        "method Acme.Shop.Box.Get 11-11",
        "type Acme.Shop.Box.D 13-13",
        "interface Acme.Shop.IShape 15-15",
        "method Acme.Shop.IShape.Draw 15-15",
        "enum Acme.Shop.State 16-16",
        "constant Acme.Shop.State.On 16-16",
        "class Acme.Shop.Point 17-17",
        "struct Acme.Shop.S 18-18",
        "chunk shop/Box.cs:1-2 1-2",
        "module shop/Box.cs 1-19",
    ],
    "lib/box.rb": [
        "parsed",
        "module Acme 3-17",
        "constant Acme::LIMIT 4-4",
        "class Acme::Box 5-16",
        "method Acme::Box#initialize 8-8",
        "method Acme::Box#get 9-11",
        "method Acme::Box#make 12-12",
        "method Acme::Box#build 14-14",
        "chunk lib/box.rb:1-2 1-2",
        "module lib/box.rb 1-17",
    ],
    "src/Box.php": [
        "parsed",
        "constant Acme\\Shop\\X 5-5",
        "class Acme\\Shop\\Box 6-12",
        "constant Acme\\Shop\\Box::MAX 9-9",
        "method Acme\\Shop\\Box::get 11-11",
        "interface Acme\\Shop\\Shape 13-13",
        "method Acme\\Shop\\Shape::draw 13-13",
        "trait Acme\\Shop\\Helps 14-14",
        "method Acme\\Shop\\Helps::help 14-14",
        "enum Acme\\Shop\\Suit 15-15",
        "constant Acme\\Shop\\Suit::A 15-15",
        "function Acme\\Shop\\helper 16-16",
        "chunk src/Box.php:1-4 1-4",
        "module src/Box.php 1-16",
    ],
    "shop/Box.kt": [
        "parsed with errors",
        "constant acme.shop.MAX 3-3",
        "class acme.shop.Box 4-11",
        "method acme.shop.Box.get 6-6",
        "method acme.shop.Box.make 8-8",
        "constant acme.shop.Box.Z 9-9",
        "interface acme.shop.Shape 12-14",
        "method acme.shop.Shape.draw 13-13",
        "class acme.shop.Single 15-15",
        "method acme.shop.Single.x 15-15",
        "enum acme.shop.State 16-16",
        "constant acme.shop.State.ON 16-16",
        "type acme.shop.Id 17-17",
        "function acme.shop.helper 18-18",
        "chunk shop/Box.kt:1-2 1-2",
        "module shop/Box.kt 1-18",
    ],
    "Box.swift": [
        "parsed",
        "class Box 2-8",
        "method Box.get 7-7",
        "interface Shape 9-9",
        "method Shape.draw 9-9",
        "struct P 10-10",
        "enum State 11-11",
        "constant State.on 11-11",
        "method State.f 11-11",
        "impl Box 12-12",
        "method Box.more 12-12",
        "type Id 13-13",
        "constant top 14-14",
        "function helper 15-15",
        "class A 16-16",
        "chunk Box.swift:1-1 1-1",
        "module Box.swift 1-16",
    ],
    "run.sh": [
        "parsed",
        "constant MAX 3-3",
        "constant NAME 4-4",
        "function run 5-6",
        "function helper 7-7",
        "constant FOO 8-8",
        "chunk run.sh:1-2 1-2",
        "module run.sh 1-8",
    ],
    "broken.cs": [
        "parsed with errors",
        "method Good 3-3",
        "chunk broken.cs:1-2 1-2",
        "chunk broken.cs:4-4 4-4",
        "module broken.cs 1-4",
    ],
    "header.h": [
        "parsed",
        "module a 2-5",
        "class a::B 4-4",
        "method a::B::get 4-4",
        "chunk header.h:1-1 1-1",
        "module header.h 1-5",
    ],
    "plain.h": [
        "parsed with errors",
        "function x 2-2",
        "function plain 4-4",
        "chunk plain.h:1-2 1-2",
        "chunk plain.h:3-3 3-3",
        "module plain.h 1-4",
    ],
}


@pytest.mark.parametrize("path", SOURCES)
def test_items(path: str) -> None:
    data = SOURCES[path].encode()
    content = read_content(path, data, language_of(path, data))
    items = [entry.item for entry in content.items]
    assert [
        content.reading.value,
        *(
            f"{item.kind.value} {item.canonical_path} {item.start_line}-{item.end_line}"
            for item in items
        ),
    ] == EXPECTED[path]
