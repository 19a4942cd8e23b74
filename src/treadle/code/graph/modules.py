"""Finds the file or folder of an imported module, by the rules of each language.

The whole path of a module must match. The last name of the path alone is not enough.
"""

from collections.abc import Callable, Iterator

from treadle.code.graph.tables import Graph

_ES_SUFFIXES = (
    ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs",
    "/index.ts", "/index.tsx", "/index.d.ts", "/index.js",
)  # fmt: skip
_ES_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}


def folder_of(path: str) -> str:
    """Return the folder of a file, which is empty for the root."""
    return path.rpartition("/")[0]


def ancestors(folder: str) -> Iterator[str]:
    """Yield `folder` and all folders above it. The root is ""."""
    yield folder
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def joined(folder: str, name: str) -> str:
    """Return `folder/name` with `.` and `..` resolved, or "" if the path leads out of the root."""
    parts = folder.split("/") if folder else []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def python_module(graph: Graph, importer: str, spec: str) -> int | None:
    """Return the file id of a Python module or package, or None.

    A name with leading dots is relative to the importer. An absolute name is searched in the folder
    of the importer, and then in each folder above it. The first match is the result. In each
    folder, the subfolder `src` is searched too.
    """
    name = spec.lstrip(".")
    dots = len(spec) - len(name)
    below = name.replace(".", "/")
    if dots:
        folder = folder_of(importer)
        for _ in range(dots - 1):
            if not folder:
                return None
            folder = folder_of(folder)
        return _python_at(graph, joined(folder, below))
    for folder in ancestors(folder_of(importer)):
        if graph.file_id(joined(folder, "__init__.py")) is not None:
            continue  # modules of this package are not top-level names
        for base in (folder, joined(folder, "src")):
            found = _python_at(graph, joined(base, below))
            if found is not None:
                return found
    return None


def python_submodule(graph: Graph, package: str, name: str) -> int | None:
    """Return the file id of the module `name` in a package, or None.

    `package` is the path of the package's `__init__` file.
    """
    folder, _, file = package.rpartition("/")
    return _python_at(graph, joined(folder, name)) if file.startswith("__init__.") else None


def _python_at(graph: Graph, position: str) -> int | None:
    for suffix in (".py", "/__init__.py", ".pyi", "/__init__.pyi"):
        found = graph.file_id(position + suffix)
        if found is not None:
            return found
    return None


def es_module(graph: Graph, importer: str, spec: str) -> int | None:
    """Return the file id of a relative module, or None.

    The function tries the suffixes that bundlers and compilers add or replace.
    """
    if not spec.startswith("."):
        return None
    position = joined(folder_of(importer), spec)
    stem, dot, suffix = position.rpartition(".")
    declared = (".d.ts", ".d.mts", ".d.cts") if ".d." in importer else ()
    for compiled in (*declared, *_ES_COMPILED.get(dot + suffix, ())):
        found = graph.file_id(stem + compiled)
        if found is not None:
            return found
    for added in ("", *_ES_SUFFIXES):
        found = graph.file_id(position + added)
        if found is not None:
            return found
    return None


def go_package(graph: Graph, spec: str) -> str | None:
    """Return the folder of a Go package, or None.

    The folder is below a `go.mod` whose module is a prefix of the path `spec`.
    """
    for folder, module in graph.manifests("go.mod"):
        if spec == module or spec.startswith(f"{module}/"):
            return joined(folder, spec[len(module) :])
    return None


def included_file(graph: Graph, importer: str, spec: str) -> int | None:
    """Return the file id for a path relative to the importer or to a folder above it, or None.

    In each folder, the subfolder `include` is searched too.
    """
    for folder in ancestors(folder_of(importer)):
        for base in (folder, joined(folder, "include")):
            found = graph.file_id(joined(base, spec))
            if found is not None:
                return found
    return None


ModuleFinder = Callable[[Graph, str, str], int | None]
