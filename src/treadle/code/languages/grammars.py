"""Loads the grammars of `tree-sitter-*` packages."""

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec


def packaged_grammar(package: str, function: str = "language") -> Callable[[], object]:
    """A function that gives the grammar which a function of a package returns."""

    def load() -> object:
        grammar: object = getattr(_binding(package), function)()
        return grammar

    return load


def _binding(package: str) -> object:
    """The extension module of a package, without the package.

    The package imports `importlib.resources` to read queries that are not used here. That takes
    half of the time in which a worker starts.
    """
    found = find_spec(package)
    folders = None if found is None else found.submodule_search_locations
    spec = PathFinder.find_spec(f"{package}._binding", folders) if folders else None
    if spec is None or spec.loader is None:
        return import_module(package)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
