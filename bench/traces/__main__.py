"""Ingest, reading and the gateway next to other servers, as Markdown tables.

Run: python -m bench.traces [--quick] [--only ingest|query|gateway] [--servers treadle,phoenix,…]

Arize Phoenix and MLflow (traces) and litellm's proxy (gateway) run in pinned environments below
`.cache/bench`. Progress goes to standard error.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence

from bench.traces import gateway, ingest, query
from bench.traces.servers import SERVERS, Server

PARTS = ("ingest", "query", "gateway")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller: about 3 minutes")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--servers", default=",".join(SERVERS), help="default: %(default)s")
    options = parser.parse_args()
    servers = [SERVERS[name]() for name in options.servers.split(",")]
    tables = parts(servers, quick=options.quick)
    chosen = PARTS if options.only is None else (options.only,)
    print("\n\n".join(tables[part]() for part in chosen))


def parts(servers: Sequence[Server], *, quick: bool) -> Mapping[str, Callable[[], str]]:
    """The function of each table."""
    sizes = (20_000, 50_000) if quick else (300_000, 1_000_000)
    return {
        "ingest": lambda: ingest.measure(
            servers, spans=5_000 if quick else 30_000, seconds=4 if quick else 8
        ),
        "query": lambda: query.measure(servers, sizes=sizes, seconds=15 if quick else 30),
        "gateway": lambda: gateway.measure(seconds=1 if quick else 2),
    }


if __name__ == "__main__":
    main()
