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

Functions of these packages and their doc comments, nothing else. All are under licences that only
ask to be named (MIT, BSD, Apache-2.0, ISC, PSF, Zlib and the like), as their own metadata says;
that is compared again whenever a package is downloaded. Files under another licence, and files
that are generated or copied from elsewhere, are left out. No package of the
[benchmarks](benchmarks.md) is among them, nor one that shares code with those, and no function
that equals one of theirs.

`python -m tools.train_embedding.examples` downloads the packages with the registries' own clients
(`pip`, `npm`, `apt-get`), reads them into `.cache/` and counts what it found. The list is
`tools/train_embedding/packages.tsv`; this page is written from it by `make docs`.
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
