"""Edits of items in files by other authors: only the item changes."""

import random
from collections import defaultdict
from collections.abc import Iterable

import pytest

from tests.foreign.item_properties import Tally, check_deletion, check_own_code_changes_nothing
from tests.foreign.samples import ForeignFile, installed_files, sample_files
from treadle.code.item_edits.editable import EditableFile, NotEditableError

_ITEMS_OF_A_FILE = 4


def _checked(files: Iterable[ForeignFile], seed: int) -> dict[str, Tally]:
    rng = random.Random(seed)
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for each in files:
        file = EditableFile(each.path, each.read())
        try:
            entries = file.entries
        except NotEditableError:  # no grammar reads it
            continue
        for entry in rng.sample(entries, min(_ITEMS_OF_A_FILE, len(entries))):
            check_own_code_changes_nothing(file, entry, tallies[each.language])
            check_deletion(file, entry, tallies[each.language])
    return tallies


def test_item_edits_of_installed_files_change_only_the_item() -> None:
    tallies = _checked(installed_files(3, 12), seed=3)
    assert sum(tally.made for tally in tallies.values()) > 25


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_item_edits_of_foreign_files_change_only_the_item(foreign_seed: int) -> None:
    tallies = _checked(sample_files(foreign_seed, 600), seed=foreign_seed)
    made = {language for language, tally in tallies.items() if tally.made}
    assert len(made) >= 20
