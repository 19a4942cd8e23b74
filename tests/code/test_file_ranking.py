"""Which files come first: what they are for, and what all of their items are about."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.embedding import write_embedding
from treadle.code import CodeIndex, View
from treadle.code.retrieval.candidates import mentioned_names

TERMS = ["carton", "def", "lid", "pass", "shuttl", "spindl", "thread", "weav"]


def files_of(
    tmp_path: Path, files: Mapping[str, str], query: str, model: Path | None = None
) -> list[str]:
    root = tmp_path / "root"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    static = None if model is None else lambda: model
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", static=static, patience=None) as index:
        index.refresh()
        return [hit.file for hit in index.search(query, view=View.FILES).results]


@pytest.mark.parametrize(
    "folder", ["examples", "samples", "demo", "playground", "benches", "docs/code"]
)
def test_code_comes_before_code_that_shows_its_use(tmp_path: Path, folder: str) -> None:
    code = "def spindle(thread):\n    return thread.turn()\n"
    files = {f"{folder}/a.py": code, "lib/spinner.py": f"{code}\n\ndef lid():\n    pass\n"}
    assert files_of(tmp_path, files, "how is the thread turned")[0] == "lib/spinner.py"


def test_an_implementation_comes_before_its_header(tmp_path: Path) -> None:
    files = {
        "spindle.h": "/* Turn the thread of a spindle. */\nint spindle_turn(int thread);\n",
        "spindle.c": "int spindle_turn(int thread) {\n  return thread + 1;\n}\n",
    }
    assert files_of(tmp_path, files, "turn the spindle") == ["spindle.c", "spindle.h"]


def test_code_comes_before_a_document_about_it(tmp_path: Path) -> None:
    files = {
        "turn.md": "# Turn the thread\n\nHow the thread is turned.\n",
        "loom.py": "def move(cone):\n    # turn the thread\n    return cone\n",
    }
    assert files_of(tmp_path, files, "how is the thread turned") == ["loom.py", "turn.md"]


@pytest.mark.parametrize(
    "folder",
    ["IntegrationTests/run", "src/commonTest/kotlin", "App.UnitTests", "LoomSpecs", "a/b-tests"],
)
def test_code_comes_before_code_in_a_folder_of_tests(tmp_path: Path, folder: str) -> None:
    code = "def spindle(thread):\n    return thread.turn()\n"
    files = {f"{folder}/a.py": code, "latest/spinner.py": f"{code}\n\ndef lid():\n    pass\n"}
    assert files_of(tmp_path, files, "how is the thread turned")[0] == "latest/spinner.py"


@pytest.mark.parametrize(
    "path",
    [".github/ISSUE_TEMPLATE/bug.md", ".gitlab/issue_templates/bug.md", "changes/TEMPLATE.md"],
)
def test_a_document_comes_before_a_form_with_the_same_words(tmp_path: Path, path: str) -> None:
    text = "# Threads that tear\n\nThe thread of the spindle tears.\n"
    files = {path: text, "notes/b.md": f"{text}{'It runs for years. ' * 20}\n"}
    query = "Threads tear\n\nWith the new version the thread of the spindle tears."
    assert files_of(tmp_path, files, query)[0] == "notes/b.md"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "one"
    return write_embedding(folder, TERMS, alike={"weav": "shuttl"})


MIXED = {
    "attic.py": "def weave():\n    pass\n\n\n"
    + "\n\n".join(f"def carton{number}(lid):\n    return lid\n" for number in range(6)),
    "loom.py": "\n\n".join(f"def shuttle{number}():\n    pass\n" for number in range(6)),
}


def test_topic_finds_the_file_with_the_most_related_items(tmp_path: Path, model: Path) -> None:
    """Only one function of the other file is; its name is the word itself."""
    assert files_of(tmp_path, MIXED, "how does weaving work", model)[0] == "loom.py"


def test_a_sentence_finds_the_file_of_its_function(tmp_path: Path, model: Path) -> None:
    assert files_of(tmp_path, MIXED, "Weaves something here.", model)[0] == "attic.py"


def test_changed_file_is_ranked_by_its_current_content(tmp_path: Path, model: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name, text in MIXED.items():
        (root / name).write_text(text)
    with CodeIndex.open(
        root, cache_dir=tmp_path / "cache", static=lambda: model, patience=None
    ) as index:
        index.refresh()
        assert index.search("how does weaving work", view=View.FILES).results[0].file == "loom.py"
        (root / "loom.py").write_text(MIXED["attic.py"].replace("weave", "lid"))
        index.refresh()
        assert index.search("how does weaving work", view=View.FILES).results[0].file == "attic.py"


def test_the_file_that_defines_a_mentioned_name_comes_first(tmp_path: Path) -> None:
    noise = "def load(thread):\n    '''How a thread is loaded, and how the carton works.'''\n"
    files = {
        "load_carton.py": noise + "\n\n" + noise.replace("load(", "carton("),
        "work.py": "def loadCarton():\n    pass\n",
        "test_work.py": "def loadCarton():\n    pass\n",
    }
    assert files_of(tmp_path, files, "how does loadCarton work")[0] == "work.py"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("how does loadCarton work", ["loadCarton"]),
        ("where is carton_lid defined", ["carton_lid"]),
        ("what does `lid` return", ["lid"]),
        ("who calls lid()", ["lid"]),
        ("how does a Lid close", ["Lid"]),
        ("Carton class", ["Carton"]),
        ("Close the lid", []),
    ],
)
def test_query_names_have_the_form_of_code(query: str, names: list[str]) -> None:
    assert mentioned_names(query) == names
