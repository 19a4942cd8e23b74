"""The goals of redaction, on a corpus that is drawn anew from each seed."""

import pytest

from scripts.write_redaction_figures import PAGE, with_figures
from tests.secrets.measuring import measure


@pytest.mark.parametrize("seed", [20_261_129, 7])
def test_redaction_finds_planted_secrets_and_leaves_harmless_texts(seed: int) -> None:
    figures = measure(seed)

    assert len(figures.vendors) >= 60
    assert sum(total for total, _ in figures.vendors.values()) >= 375
    assert sum(total for total, _ in figures.harmless.values()) >= 400
    assert figures.recall >= 0.95
    assert figures.false_positives <= 0.01
    for family, (total, gone) in (*figures.vendors.items(), *figures.assigned.items()):
        assert gone >= total * 0.8, family


def test_the_figures_in_the_documentation_are_current() -> None:
    page = PAGE.read_text("utf-8")

    assert with_figures(page) == page, "run scripts/write_redaction_figures.py"
