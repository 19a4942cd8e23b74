"""Ruby, with canonical paths of the form `Module::Class#method`, also for class methods."""

from typing import TYPE_CHECKING

from treadle.code.languages.base import Language, no_package, packaged_grammar, text_of
from treadle.code.references import Imported

if TYPE_CHECKING:
    from tree_sitter import Node


def _imports(node: "Node") -> list[Imported]:
    """Return the file that `require_relative` or `require` names.

    A path of `require_relative` starts with `.`. The target of any other path depends on the
    machine.
    """
    arguments = node.child_by_field_name("arguments")
    method = node.child_by_field_name("method")
    text = text_of(arguments).strip("()\"' ") if arguments is not None else ""
    relative = method is not None and text_of(method) == "require_relative"
    return [Imported("", f"./{text}" if relative and not text.startswith(".") else text)]


RUBY = Language(
    name="ruby",
    extensions=(".rb", ".rake", ".gemspec"),
    grammar=packaged_grammar("tree_sitter_ruby"),
    separator="::",
    member_separator="#",
    prefix=no_package,
    imports=_imports,
    self_names=frozenset({"self"}),
    implicit_self=True,
    builtins=frozenset({"require", "require_relative", "include", "extend", "puts", "raise"}),
    reference_text="""
(call !receiver method: (identifier) @call)
(call receiver: [(self) (constant) (scope_resolution) (identifier)] @receiver
  method: (identifier) @call)
(class superclass: (superclass (_) @base))
(call method: (identifier) @_include arguments: (argument_list (constant) @base)
  (#any-of? @_include "include" "extend" "prepend"))
((call method: (identifier) @_require arguments: (argument_list (string))) @import
  (#any-of? @_require "require" "require_relative"))
(method_parameters (identifier) @local)
(block_parameters (identifier) @local)
(assignment left: (identifier) @local)
""",
    query_text="""
(module name: (_) @name) @module
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
(assignment left: (left_assignment_list (constant) @name @constant)) @range
(comment) @comment
""",
)
