"""Tasks from history: the answer is in the searched tree, and the change is not."""

import subprocess
from pathlib import Path

import pytest

from bench.tasks.answers import Answer, Method, Wording, answer_of, treadle
from bench.tasks.curves import answers
from bench.tasks.examples import examples_path, export, read
from bench.tasks.history import Commit, History
from bench.tasks.issues import Report, ask_issues, issue_tasks
from bench.tasks.measures import clustered, file_recall, function_recall, hit_at, ndcg
from bench.tasks.messages import informative_words, is_routine, query_of, without_names
from bench.tasks.queries import query_of as query_of_task
from bench.tasks.repositories import Part, Repository, listed
from bench.tasks.task_set import Task, make_tasks, tree_path
from bench.tasks.trees import opened
from treadle.code.retrieval.task_ranking import shipped_curves

QUEUE = '''
def push_entry(queue, entry):
    """Append."""
    queue.append(entry)


def drain(queue):
    while queue:
        yield queue.pop()
'''
CACHE = """
class Cache:
    def expire(self, now):
        self.entries.clear()
"""
TEST = """
def test_drain():
    assert list(drain([1])) == [1]
"""


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    """A clone with commits of many kinds."""
    tree = tmp_path / "tree"
    (tree / "tests").mkdir(parents=True)

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        command = ["git", "-C", str(tree), *identity, "-c", "commit.gpgsign=false", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def commit(message: str, **files: str) -> None:
        for name, text in files.items():
            place = tree / ("tests" if name.startswith("test_") else "") / f"{name}.py"
            place.write_text(text)
        git("add", "-A")
        git("commit", "--allow-empty", "-m", message)

    git("init", "-q")
    commit("Begin")
    commit("Choose a licence")
    commit("Start", queue=QUEUE, cache=CACHE, test_queue=TEST)
    changed = QUEUE.replace("queue.pop()", "queue.pop(0)")
    commit(
        "fix(queue): Return the oldest entries first in drain() (#12)\n\n"
        "Entries of `queue.py` came in reverse order.\n\nSigned-off-by: A <a@example.org>",
        queue=changed,
        test_queue=TEST.replace("[1]", "[1, 2]"),
    )
    commit("Bump version of the whole package to 1.2", queue=f"VERSION = 12\n{changed}")
    commit("Close the drained queue after its last entry", queue=f"{changed}    queue.close()\n")
    commit(
        "Drop only what has expired from the entries", cache=CACHE.replace("clear()", "prune(now)")
    )
    git("clone", "-q", "--bare", str(tree), str(tmp_path / "clones" / "a+b.git"))
    return tmp_path / "clones"


def made(clones: Path, work: Path) -> tuple[Repository, list[Task]]:
    repository = Repository(Part.TUNING, "Python", "a/b", "MIT", "HEAD")
    found = make_tasks(repository, clones, work, count=9, anchors=1, fewest=1)
    return repository, list(found)


def test_commits_become_tasks(clones: Path, tmp_path: Path) -> None:
    repository, tasks = made(clones, tmp_path)
    first, second = tasks
    assert first.named.startswith("Return the oldest entries first in drain()\n\nEntries of")
    assert "Signed" not in first.named
    assert "queue.py" not in first.plain
    assert "drain" not in first.plain
    assert (first.files, first.test_files) == (("queue.py",), ("tests/test_queue.py",))
    (function,) = first.functions
    root = tree_path(tmp_path, repository, first.anchor)
    code = (root / "queue.py").read_bytes()[function.start_byte : function.end_byte]
    assert code.startswith(b"def drain")
    assert b"pop(0)" not in code
    assert second.plain == "Drop only what has expired from the entries"


def test_a_change_of_missing_code_is_not_a_task(clones: Path, tmp_path: Path) -> None:
    assert not [task for task in made(clones, tmp_path)[1] if task.named.startswith("Close")]


def test_examples_are_ranked_as_the_product_ranks(clones: Path, tmp_path: Path) -> None:
    repository, tasks = made(clones, tmp_path)
    with opened(tmp_path, repository, tasks[0].anchor) as index:
        asked = [
            answer_of(task, wording, Method.TREADLE, treadle(index, query_of_task(task, wording)))
            for task in tasks
            for wording in Wording
        ]
    export(repository, tasks, tmp_path)
    ranked = answers(shipped_curves(), read(examples_path(tmp_path, repository)))
    assert [answer.file_ranks for answer in ranked] == [answer.file_ranks for answer in asked]
    assert [one.function_ranks for one in ranked] == [one.function_ranks for one in asked]
    assert asked[0].file_ranks == (1,)


def test_reports_are_searched_in_the_tree_before_their_fix(clones: Path, tmp_path: Path) -> None:
    commits = History(clones / "a+b.git").between("HEAD~4", "HEAD")
    fixes = [
        (Repository(Part.TUNING, "Python", "a/b", "", one.identifier), number)
        for number, one in enumerate(commits)
        if not one.subject.startswith("Bump")
    ]
    reports = tmp_path / "reports.jsonl"
    reports.write_text(
        "".join(
            f"{Report(repository='a/b', number=number, text=text).model_dump_json()}\n"
            for number, text in enumerate([
                "Entries of drain come in reverse order",
                "not asked, since it fixes nothing",
                "The drained queue stays open after the last entry",
                "Entries are dropped before they expire\u2028in the cache",
            ])
        )
    )  # fmt: skip
    before: list[tuple[tuple[str, ...], bool]] = []
    for task, root in issue_tasks(fixes, reports, clones, tmp_path):
        before.append((task.files, b"pop(0)" in (root / "queue.py").read_bytes()))
    assert before == [(("queue.py",), False), (("cache.py",), True)]
    asked = list(ask_issues(fixes, reports, clones, tmp_path))
    assert [answer.file_ranks for answer in asked] == [(1,), (1,)]


@pytest.mark.parametrize(
    "subject",
    ["Revert the queue", "Bump version to 1.2", "docs: explain queues", "Fix typo in the queue"],
)
def test_housekeeping_is_not_a_task(subject: str) -> None:
    assert is_routine(Commit("a", ("b",), "A", subject, ""))


def test_merges_and_bots_are_not_tasks() -> None:
    assert is_routine(Commit("a", ("b", "c"), "A", "Keep the order of entries", ""))
    assert is_routine(Commit("a", ("b",), "renovate[bot]", "Keep the order of entries", ""))
    assert not is_routine(Commit("a", ("b",), "A", "Keep the order of entries", ""))


def test_links_numbers_and_trailers_are_not_a_query() -> None:
    body = "See https://example.org/1, fixes #7.\n\nCo-authored-by: B <b@example.org>"
    query = query_of(Commit("a", ("b",), "A", "[MNG-1234] Read UTF-16 names (#12)", body))
    assert query.startswith("Read UTF-16 names")
    assert not {"#", "example", "MNG"} & set(query)
    assert "example" not in query


def test_plain_words_stay_though_a_function_has_that_name() -> None:
    text = "net/http: open the socket before `open` or read_all() is called"
    assert without_names(text, ["open", "read_all"], ["src/net/http/socket.go"]) == (
        "open the socket before or () is called"
    )


def test_informative_words_are_counted_once() -> None:
    assert informative_words("the queue of a Queue is drained") == 2


def answer(repository: str, files: tuple[int | None, ...]) -> Answer:
    return Answer(
        task="t", repository=repository, language="C", is_long=False, wording=Wording.PLAIN,
        method=Method.TREADLE, file_ranks=files, function_ranks=(3, None),
    )  # fmt: skip


def test_measures_count_ranks() -> None:
    found = answer("a", (2, None))
    assert (hit_at(1)(found), hit_at(3)(found), file_recall(found)) == (0, 1, 0.5)
    assert function_recall(found) == 0.5
    assert ndcg(answer("a", (1, 2))) == 1


def test_method_without_functions_has_no_function_recall() -> None:
    assert function_recall(answer("a", (1,)).model_copy(update={"function_ranks": ()})) is None


def test_interval_spans_repositories() -> None:
    vector_scores = [answer("a", (1,))] * 50
    assert (one := clustered(vector_scores, hit_at(1))) is not None
    assert (one.low, one.high) == (1, 1)
    both = clustered([*vector_scores, *[answer("b", (None,))] * 50], hit_at(1))
    assert both is not None
    assert (both.low, both.high) == (0, 1)


def test_parts_share_no_repository() -> None:
    repositories = listed()
    assert len({repository.name for repository in repositories}) == len(repositories)
    assert {repository.part for repository in repositories} == set(Part)
