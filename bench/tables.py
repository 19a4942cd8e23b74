"""Puts a table from standard input between its marks in docs/benchmarks.md.

Run: python -m bench.NAME | python -m bench.tables NAME
"""

import argparse
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def with_table(page: str, name: str, table: str) -> str:
    """`page` with the text between the marks of `name` replaced. Raises ValueError."""
    begin, end = f"<!-- {name}: written by `make bench`, do not edit -->", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the page has no place for {name}")
    return f"{before}{begin}\n\n{table.strip()}\n\n{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the benchmark whose table comes in")
    name = parser.parse_args().name
    table = sys.stdin.read()
    if not table.strip():
        sys.exit(f"bench.{name} printed nothing; docs/benchmarks.md is left as it is.")
    print(table.strip())
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), name, table), encoding="utf-8")


if __name__ == "__main__":
    main()
