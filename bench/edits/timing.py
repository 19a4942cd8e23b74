"""Time to plan and to apply edits in files of many lines, and of many files at once.

Processor time, since wall time depends on other work. Code of real files is concatenated to the
requested number of lines.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.edits.tasks import sources
from bench.retrieval.packages import CORPORA
from treadle.edits.patches import parse_patch
from treadle.edits.plan import plan
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.relocation import rehunk, relocate
from treadle.edits.requests import EditRequest, LineRangeEdit, ReplaceEdit
from treadle.edits.service import Edits

SIZES = (100, 1_000, 5_000, 15_000, 50_000)
FILES = 200
_ROUNDS = 7


def real_lines(count: int) -> list[bytes]:
    """That many lines of the Python packages, one after the other."""
    lines: list[bytes] = []
    for path in sources(CORPORA[0]):
        lines += path.read_bytes().splitlines(keepends=True)
        if len(lines) >= count:
            break
    return lines[:count]


def milliseconds(run: Callable[[], object]) -> float:
    """The median of some runs."""
    spent: list[float] = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        run()
        spent.append(time.process_time() - begin)
    return statistics.median(spent) * 1000


def edits_of(lines: Sequence[bytes]) -> dict[str, tuple[bytes, Sequence[EditRequest]]]:
    """Edits in the middle of a file by name, each with the file."""
    middle = len(lines) // 2
    marked = [b"    first = marked(here)\n", b"    second = marked(here)\n"]
    data = b"".join([*lines[:middle], *marked, *lines[middle:]])
    old = b"".join(marked).decode()
    new = old.replace("second", "third")
    patch = "*** Begin Patch\n*** Update File: f\n@@\n     first = marked(here)\n"
    patch += "-    second = marked(here)\n+    third = marked(here)\n*** End Patch\n"
    shallow = "".join(line[4:] for line in old.splitlines(keepends=True))
    return {
        "replace": (data, [ReplaceEdit("f", old, new)]),
        "replace, CRLF in the file": (data.replace(b"\n", b"\r\n"), [ReplaceEdit("f", old, new)]),
        "replace, other indentation": (data, [ReplaceEdit("f", shallow, f"{shallow}x = 1\n")]),
        "patch": (data, parse_patch(patch)),
        "lines": (data, [LineRangeEdit("f", middle + 1, middle + 1, "    x = 1\n")]),
    }


def planning_rows() -> list[tuple[str, list[float]]]:
    """Milliseconds to plan by kind of edit, one for each size; then to compare and relocate."""
    rows: dict[str, list[float]] = {}
    for size in SIZES:
        lines = real_lines(size)
        for name, (data, requests) in edits_of(lines).items():
            spent = milliseconds(lambda r=requests, d=data: plan(r, lambda _: d))  # type: ignore[misc]  # a lambda's defaults
            rows.setdefault(f"plan: {name}", []).append(spent)
        data, requests = edits_of(lines)["replace"]
        (change,) = plan(requests, lambda _: data).changes  # noqa: B023  # used at once
        moved = b"# mine\n" + data
        rows.setdefault("carry over to a changed file", []).append(
            milliseconds(lambda c=change, m=moved: relocate(c, m))  # type: ignore[misc]
        )
        other = b"".join(b"changed\n" if n % 50 == 7 else line for n, line in enumerate(lines))
        whole = b"".join(lines)
        rows.setdefault("compare, every 50th line changed", []).append(
            milliseconds(lambda a=whole, b=other: rehunk("f", a, b))  # type: ignore[misc]
        )
    return list(rows.items())


def applying_rows() -> list[tuple[str, list[float]]]:
    """Milliseconds to stage (plan and save) and to apply with fsync, one for each size."""
    staged: list[float] = []
    applied: list[float] = []
    for size in SIZES:
        data, requests = edits_of(real_lines(size))["replace"]
        stage, apply = _staged_and_applied({"f": data}, requests)
        staged.append(stage)
        applied.append(apply)
    return [("stage a replacement", staged), ("apply it", applied)]


def many_files() -> tuple[float, float]:
    """Milliseconds to stage and to apply one edit in each of 200 files of 300 lines."""
    lines = real_lines(300)
    data, _ = edits_of(lines)["replace"]
    files = {f"f{number}": data for number in range(FILES)}
    old = "    second = marked(here)\n"
    return _staged_and_applied(files, [ReplaceEdit(path, old, "    x = 1\n") for path in files])


def _staged_and_applied(
    files: dict[str, bytes], requests: Sequence[EditRequest]
) -> tuple[float, float]:
    """The medians of wall milliseconds, since waiting for the disk counts."""
    stage: list[float] = []
    apply: list[float] = []
    for _ in range(_ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "root"
            root.mkdir()
            for path, data in files.items():
                (root / path).write_bytes(data)
            edits = Edits(root, ProposalStore.open(Path(folder) / "proposals.db"))
            begin = time.perf_counter()
            proposal = edits.stage(requests)
            middle = time.perf_counter()
            edits.apply(proposal.id)
            stage.append(middle - begin)
            apply.append(time.perf_counter() - middle)
    return statistics.median(stage) * 1000, statistics.median(apply) * 1000
