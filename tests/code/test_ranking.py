"""What comes first: answers that were wrong once, and the rules of docs/context.md."""

from collections.abc import Sequence
from pathlib import Path

from treadle.code import CodeIndex, ContextEntry, SearchResults
from treadle.code.terms import query_terms


def found(tmp_path: Path, files: dict[str, str], query: str) -> SearchResults:
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        return index.search(query)


def first(tmp_path: Path, files: dict[str, str], query: str) -> str:
    """The canonical path of the best item."""
    return found(tmp_path, files, query).results[0].canonical_path


def test_a_function_comes_before_the_file_that_is_named_as_it(tmp_path: Path) -> None:
    code = {"parse_header.py": "def parse_header(line):\n    return line.split(':')\n"}
    assert first(tmp_path, code, "parse header") == "parse_header.parse_header"
    assert first(tmp_path, code, "parse_header") == "parse_header.parse_header"


def test_owner_and_name_beat_a_body_that_repeats_the_words(tmp_path: Path) -> None:
    code = {
        "src/join.rs": "pub struct JoinHandle;\nimpl JoinHandle {\n    pub fn abort(&self) {\n"
        "        self.raw.remote()\n    }\n}\n",
        "src/pool.rs": "fn drain() {\n    // when one is aborted the others go on\n"
        "    let handle: JoinHandle = spawn();\n    handle.join();\n}\n",
    }
    answer = first(tmp_path, code, "How is a JoinHandle aborted")
    assert answer == "crate::join::JoinHandle::abort"


def test_a_rare_word_does_not_win_over_all_others_together(tmp_path: Path) -> None:
    code = {f"filler{n}.py": f"def run{n}():\n    call = result = tool = {n}\n" for n in range(30)}
    code["calls.py"] = "def match_tool_calls(calls, results):\n    return zip(calls, results)\n"
    code["view.py"] = "def view(self):\n    matched = 1\n    return matched\n"
    assert first(tmp_path, code, "How are tool calls matched to their results?") == (
        "calls.match_tool_calls"
    )


def test_generated_and_vendored_code_comes_after_ones_own(tmp_path: Path) -> None:
    body = "def encode_message(value):\n    return value\n"
    code = {"a/vendor/wire.py": body, "api_pb2.py": body, "wire.py": body}
    assert first(tmp_path, code, "encode a message value") == "wire.encode_message"


CALLS = """
def start_up():
    parse_header("a: b")

def parse_header(line):
    return halves(line)

def halves(text):
    return text.split(":")
"""


def test_what_calls_the_best_and_what_it_calls_is_found_without_a_word_in_common(
    tmp_path: Path,
) -> None:
    answer = found(tmp_path, {"wire.py": CALLS}, "parse header")
    reasons = {hit.name: hit.reason for hit in answer.results}
    assert next(iter(reasons)) == "parse_header"
    assert reasons["halves"] == "called by parse_header"
    assert reasons["start_up"] == "calls parse_header"
    assert answer.parts == ("lexical", "graph")


def test_tests_are_not_brought_in_by_what_they_call(tmp_path: Path) -> None:
    files = {
        "wire.py": CALLS,
        "tests/test_wire.py": "from wire import parse_header\ndef test_it(): parse_header('')\n",
    }
    names = {hit.name: hit.reason for hit in found(tmp_path, files, "parse header").results}
    assert not names.get("test_it")


def test_a_caller_that_is_edited_away_is_no_longer_found(tmp_path: Path) -> None:
    path = tmp_path / "root" / "wire.py"
    path.parent.mkdir()
    path.write_text(CALLS)
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        assert "start_up" in {hit.name for hit in index.search("parse header").results}
        path.write_text(CALLS.replace('    parse_header("a: b")', "    pass"))
        index.refresh()
        assert "start_up" not in {hit.name for hit in index.search("parse header").results}


def test_related_words_weigh_less_than_those_asked_for() -> None:
    terms = query_terms("Remove the message")
    assert terms["remov"] == terms["messag"] == 1.0
    assert 0 < terms["delet"] == terms["msg"] < 1


def test_weak_words_are_left_out_of_questions_only() -> None:
    assert "handl" not in query_terms("how is a broken pipe handled")
    assert "handl" in query_terms("handle a broken pipe")
    assert "get" in query_terms("get")


def test_a_long_class_that_is_named_is_shown_with_as_many_lines_as_fit(tmp_path: Path) -> None:
    methods = "".join(f"    def part{n}(self):\n        return {n}\n" for n in range(60))
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "big.py").write_text(
        f'class Assembly:\n    """Puts parts together."""\n\n{methods}'
    )

    def fits(entries: Sequence[ContextEntry], _omitted: int) -> bool:
        return sum(len(entry.snippet) for entry in entries) < 900

    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        result = index.context("Assembly", top_k=1, fits=fits)
    (entry,) = result.entries
    assert not entry.whole
    assert "Puts parts together." in entry.snippet
    assert 900 - 60 <= len(entry.snippet) < 900


def test_a_method_is_found_by_what_its_type_is_for(tmp_path: Path) -> None:
    code = {
        "a.rs": "/// Limits how often requests are retried.\npub struct Budget { left: u32 }\n"
        "impl Budget {\n    pub fn spend(&mut self) -> bool { self.left > 0 }\n}\n",
        "b.rs": "pub struct Purse { left: u32 }\n"
        "impl Purse {\n    pub fn spend(&mut self) -> bool { self.left > 0 }\n}\n",
    }
    names = [hit.canonical_path for hit in found(tmp_path, code, "spend a request retry").results]
    assert names.index("crate::a::Budget::spend") < names.index("crate::b::Purse::spend")
    (place,) = [
        hit for hit in found(tmp_path, code, "limits requests").results if hit.name == "spend"
    ]
    assert place.canonical_path == "crate::a::Budget::spend"


def test_a_name_that_the_query_says_all_of_comes_first(tmp_path: Path) -> None:
    code = {
        "a.py": "def close_all_windows_now(): pass\n",
        "b.py": "def close_window(): pass\n",
    }
    assert first(tmp_path, code, "close the window") == "b.close_window"
