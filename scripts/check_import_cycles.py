"""Reports import cycles between the modules of `src/treadle`.

Every import statement counts. An import inside a function or under `if TYPE_CHECKING` connects two
modules too: neither can be read or moved without the other. An import of a module also imports the
packages that contain it, except the packages that contain the importing module too.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"

Graph = Mapping[str, frozenset[str]]


def modules(sources: Path) -> dict[str, str]:
    """The text of each module under `sources`, by the module's name."""
    return {
        ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__"): (
            path.read_text("utf-8")
        )
        for path in sorted(sources.rglob("*.py"))
    }


def imports(texts: Mapping[str, str]) -> Graph:
    """The modules that each module imports. Modules from elsewhere are left out."""
    return {
        name: frozenset(
            each
            for imported in _imported(text, texts)
            for each in (imported, *_packages(imported, texts))
            if not f"{name}.".startswith(f"{each}.")
        )
        for name, text in texts.items()
    }


def cycles(graph: Graph) -> list[list[str]]:
    """The groups of modules that all import each other, directly or through others."""
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted({name, *(each for each in reach[name] if name in reach[each])}))
        for name in graph
    }
    return [list(group) for group in sorted(groups) if len(group) > 1]


def _imported(text: str, known: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in known:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                yield inner if inner in known else node.module


def _packages(name: str, known: Mapping[str, str]) -> Iterator[str]:
    parts = name.split(".")
    yield from (each for n in range(1, len(parts)) if (each := ".".join(parts[:n])) in known)


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def main() -> int:
    """Print each cycle; the exit code is 1 when there is one."""
    found = cycles(imports(modules(SOURCES)))
    for cycle in found:
        sys.stdout.write(f"These modules import each other: {', '.join(cycle)}.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
