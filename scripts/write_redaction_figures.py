"""Writes the figures of redaction, by family, into docs/redaction.md. `make docs` runs it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.secrets.measurement import measure

PAGE = Path(__file__).parents[1] / "docs" / "redaction.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def with_figures(page: str) -> str:
    """The page with the current figures."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return "\n".join([f"{head}{BEGIN}", *_figures(), f"{END}{tail}"])


def _figures() -> Iterator[str]:
    figures = measure()
    planted = {**figures.vendors, **figures.assigned}
    total = sum(count for count, _ in planted.values())
    ordinary = sum(count for count, _ in figures.harmless.values())
    yield ""
    yield (
        f"{figures.recall:.1%} of {total} planted secrets are removed, and "
        f"{figures.false_positives:.1%} of {ordinary} harmless texts are changed."
    )
    yield ""
    yield from _table("keys of", figures.vendors, "removed")
    yield from _table("named secrets in", figures.assigned, "removed")
    yield from _table("harmless", figures.harmless, "changed")


def _table(title: str, counts: Mapping[str, tuple[int, int]], what: str) -> Iterator[str]:
    yield f"| {title} | texts | {what} |"
    yield "|---|---|---|"
    for name, (total, part) in counts.items():
        yield f"| {name} | {total} | {part} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(with_figures(PAGE.read_text("utf-8")), "utf-8")
