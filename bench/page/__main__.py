"""How fast the page is and what it keeps in memory, as Markdown tables.

Run: python -m bench.page [--only trace|live|memory]
"""

import argparse
import runpy
import sys

PARTS = ("trace", "live", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    for part in [only] if only else PARTS:
        print(f"page: {part}", file=sys.stderr)
        sys.argv = [part]
        runpy.run_module(f"bench.page.{part}", run_name="__main__")
        print()


if __name__ == "__main__":
    main()
