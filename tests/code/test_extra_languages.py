"""Definitions of the languages that come with the extra `grammars`."""

import pytest

from treadle.code.languages import language_of
from treadle.code.languages.extra import WIDE, installed
from treadle.code.parse.content import read_content

pytestmark = pytest.mark.skipif(not installed(), reason="needs the extra grammars")

SOURCES = {
    "cart.lua": """\
-- Adds.
local function add(a, b) return a end
function M.sub(a) return 1 end
function M:meth() end
local x = function() end
M.y = function() end
""",
    "Cart.scala": """\
package a.b
/** A cart. */
class Cart(x: Int) extends Base {
  def total(a: Int): Int = 1
}
object Shop { def run() = {} }
trait Shape { def area: Int }
enum Color { case Red }
type X = Int
""",
    "cart.dart": """\
/// A cart.
class Cart extends Base {
  Cart(this.a);
  int total(int a) {
    return 1;
  }
  int get x => 1;
}
int add(int a) => a;
enum E { a, b }
mixin M { void f() {} }
""",
    "cart.zig": """\
/// Adds.
pub fn add(a: i32) i32 { return a; }
const Point = struct { x: i32,
  pub fn len(self: Point) i32 { return 1; }
};
""",
    "Cart.hs": """\
module Shop.Cart where
-- | A cart.
data Cart = Cart Int
class Shape a where
  area :: a -> Int
add :: Int -> Int
add a = a
type X = Int
""",
    "cart.ex": """\
defmodule Shop.Cart do
  @doc "Adds."
  def total(a) do
    1
  end
  defp helper(a), do: a
  defmacro twice(a) do
  end
end
""",
    "cart.jl": """\
module Shop
struct Cart
  x::Int
end
function add(a) a end
mul(a, b) = a * b
const LIMIT = 1
end
""",
    "cart.R": "# Adds.\nadd <- function(a) { a }\nmul = function(a) a\n",
    "Cart.m": """\
@interface Cart : NSObject
- (int)total:(int)a;
@end
@implementation Cart
- (int)total:(int)a { return 1; }
@end
int add(int a) { return a; }
""",
    "cart.ml": """\
(* Adds. *)
let add a b = a
type cart = { x : int }
module Shop = struct let g x = x end
""",
    "cart.proto": """\
syntax = "proto3";
package shop.v1;
// A cart.
message Cart { int32 x = 1; message Line {} }
enum Kind { A = 0; }
service Shop { rpc Get (Cart) returns (Cart); }
""",
    "cart.graphql": "type Cart { x: Int }\nenum Kind { A }\nquery Find { a }\n",
    "Cart.sol": """\
/// A cart.
contract Cart is Base {
  function total(uint a) public returns (uint) { return 1; }
  struct Line { uint x; }
}
interface Shape { function area() external; }
""",
}
EXPECTED = {
    "cart.lua": [
        "function add 1-2",
        "function M.sub 3-3",
        "function M:meth 4-4",
        "function x 5-5",
        "function M.y 6-6",
    ],
    "Cart.scala": [
        "class a.b.Cart 2-5",
        "method a.b.Cart.total 4-4",
        "class a.b.Shop 6-6",
        "method a.b.Shop.run 6-6",
        "trait a.b.Shape 7-7",
        "method a.b.Shape.area 7-7",
        "enum a.b.Color 8-8",
        "type a.b.X 9-9",
        "chunk Cart.scala:1-1 1-1",
    ],
    "cart.dart": [
        "class Cart 1-8",
        "method Cart.Cart 3-3",
        "method Cart.total 4-6",
        "method Cart.x 7-7",
        "function add 9-9",
        "enum E 10-10",
        "class M 11-11",
        "method M.f 11-11",
    ],
    "cart.zig": [
        "function add 1-2",
        "struct Point 3-5",
        "method Point.len 4-4",
    ],
    "Cart.hs": [
        "struct Shop.Cart.Cart 2-3",
        "trait Shop.Cart.Shape 4-5",
        "method Shop.Cart.Shape.area 5-5",
        "function Shop.Cart.add 6-7",
        "type Shop.Cart.X 8-8",
        "chunk Cart.hs:1-1 1-1",
    ],
    "cart.ex": [
        "module Shop.Cart 1-9",
        "function Shop.Cart.total 2-5",
        "function Shop.Cart.helper 6-6",
        "macro Shop.Cart.twice 7-8",
    ],
    "cart.jl": [
        "module Shop 1-8",
        "struct Shop.Cart 2-4",
        "function Shop.add 5-5",
        "function Shop.mul 6-6",
        "constant Shop.LIMIT 7-7",
    ],
    "cart.R": [
        "function add 1-2",
        "function mul 3-3",
    ],
    "Cart.m": [
        "class Cart 1-3",
        "method Cart.total 2-2",
        "impl Cart 4-6",
        "method Cart.total 5-5",
        "function add 7-7",
    ],
    "cart.ml": [
        "function add 1-2",
        "type cart 3-3",
        "module Shop 4-4",
        "function Shop.g 4-4",
    ],
    "cart.proto": [
        "struct shop.v1.Cart 3-4",
        "struct shop.v1.Cart.Line 4-4",
        "enum shop.v1.Kind 5-5",
        "interface shop.v1.Shop 6-6",
        "method shop.v1.Shop.Get 6-6",
        "chunk cart.proto:1-2 1-2",
    ],
    "cart.graphql": [
        "struct Cart 1-1",
        "enum Kind 2-2",
        "function Find 3-3",
    ],
    "Cart.sol": [
        "class Cart 1-5",
        "method Cart.total 3-3",
        "struct Cart.Line 4-4",
        "interface Shape 6-6",
        "method Shape.area 6-6",
    ],
}


@pytest.mark.parametrize("path", SOURCES)
def test_items(path: str) -> None:
    data = SOURCES[path].encode()
    content = read_content(path, data, language_of(path, data))
    found = [entry.item for entry in content.items[:-1]]
    assert content.reading.value == "parsed"
    assert [
        f"{item.kind.value} {item.canonical_path} {item.start_line}-{item.end_line}"
        for item in found
    ] == EXPECTED[path]


def test_every_language_has_a_sample() -> None:
    assert {language.name for language in WIDE} == {
        language.name for path in SOURCES if (language := language_of(path)) is not None
    }
