"""Writes docs/embedding-data.md: the packages that the embedding is trained on."""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "embedding-data.md"
sys.path.insert(0, str(ROOT))

from tools.train_embedding.packages import Source, sources  # noqa: E402  (below the root)

HEAD = """# What the embedding is trained on

The embedding is trained only on the functions and doc comments of these packages. By their own
metadata, all of them have licences that require only attribution (MIT, BSD, Apache-2.0, ISC, PSF,
Zlib and similar licences). Each download checks the licence again. Files under another licence,
generated files and copied files are left out. The list contains no package of the
[benchmarks](benchmarks.md), and no package that shares code with one of them. Functions that equal
a function of the benchmarks are left out too.

`python -m tools.train_embedding.examples` downloads the packages with the registries' own clients
(`pip`, `npm`, `apt-get`), reads them into `.cache/` and counts their functions. `make docs` writes
this page from the list in `tools/train_embedding/packages.tsv`.
"""
CLIENTS = {
    "wheel": "wheel, `pip`",
    "npm": "package, `npm`",
    "apt": "binary package, Debian",
    "source": "source package, Debian",
}


def render() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_tables(sources())])


def _tables(listed: list[Source]) -> Iterator[str]:
    for language, group in groupby(listed, key=lambda source: source.language):
        packages = list(group)
        yield f"## {language}: {len(packages)} packages\n"
        yield "| package | version | licence | from |\n|---|---|---|---|"
        for package in packages:
            yield (
                f"| `{package.name}` | {package.version} | {package.licence} "
                f"| {CLIENTS[package.client]} |"
            )
        yield ""


def main() -> int:
    """Write the page."""
    PAGE.write_text(render())
    return 0


if __name__ == "__main__":
    sys.exit(main())
