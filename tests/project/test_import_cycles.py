"""The check of import cycles finds every kind of import, and the code base has no cycle."""

import pytest

from scripts.check_import_cycles import cycles, imports, main


@pytest.mark.parametrize(
    "statement",
    [
        "import p.a",
        "from p import a",
        "from p.a import name",
        "def call():\n    from p.a import name",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import Name",
    ],
)
def test_a_cycle_is_found_whatever_the_form_of_its_imports(statement: str) -> None:
    texts = {"p": "", "p.a": "from p.b import name", "p.b": "import p.c", "p.c": statement}
    assert cycles(imports(texts)) == [["p.a", "p.b", "p.c"]]


def test_modules_of_one_package_form_no_cycle_with_its_init() -> None:
    texts = {"p": "from p.a import name", "p.a": "from p.b import name", "p.b": "import json"}
    assert cycles(imports(texts)) == []


def test_an_import_from_another_package_imports_that_package_too() -> None:
    texts = {
        "p": "",
        "p.a": "import p.q.b",
        "p.q": "import p.q.c",
        "p.q.b": "",
        "p.q.c": "import p.a",
    }
    assert cycles(imports(texts)) == [["p.a", "p.q", "p.q.c"]]


def test_the_code_base_has_no_import_cycle() -> None:
    assert main() == 0
