"""Random edits, rewinds and undos of rewinds never lose a line of the person."""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.rewinding import Scene, opened
from treadle.app.rewind import RewindConflictError
from treadle.edits.requests import LineRangeEdit
from treadle.errors import NotFoundError

MEMORY = Path("/dev/shm")
LINES = 6

Step = tuple[str, int, int, bool]
"""The action, a file or a prompt, a line, and whether changed files are kept."""

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["prompt", "prompt", "prompt", "person", "rewind", "undo", "rewind and undo"]
        ),
        st.integers(0, 5),
        st.integers(0, LINES - 1),
        st.booleans(),
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=30)
@given(STEPS)
def test_lines_of_the_person_survive_all_rewinds(steps: list[Step]) -> None:
    place = MEMORY if os.access(MEMORY, os.W_OK) else None  # syncing memory takes no time
    with tempfile.TemporaryDirectory(dir=place) as folder:
        home = {"TREADLE_HOME": str(Path(folder) / "home")}
        root = Path(folder) / "root"
        root.mkdir()
        for name in ("0", "1"):
            (root / name).write_text("".join(f"line {n}\n" for n in range(LINES)))
        with patch.dict(os.environ, home):
            asyncio.run(_play(root, steps))


async def _play(root: Path, steps: list[Step]) -> None:
    written: set[str] = set()
    async with opened(root) as scene:
        for number, step in enumerate(steps):
            await _take(scene, number, step, written)
            present = b"".join(scene.files().values()).decode()
            assert written <= set(present.splitlines())


async def _take(scene: Scene, number: int, step: Step, written: set[str]) -> None:
    action, which, line, keep = step
    path = scene.root / str(which % 2)
    match action:
        case "prompt":
            lines = path.read_text().splitlines()
            at = 1 + line % len(lines)
            if lines[at - 1] not in written:  # the model leaves lines of the person alone
                edit = LineRangeEdit(path.name, at, at, f"model {number}\n")
                await scene.prompt(f"prompt {number}", [edit])
        case "person":
            lines = path.read_text().splitlines()
            mine = f"person {number}"
            lines.insert(line, mine)
            if lines[(line + 1) % len(lines)] not in written:
                lines.pop((line + 1) % len(lines))
            path.write_text("".join(f"{each}\n" for each in lines))
            written.add(mine)
        case "undo":
            await _undo(scene, keep=keep)
        case _:
            await _rewind(scene, which, keep=keep, undo=action == "rewind and undo")


async def _undo(scene: Scene, *, keep: bool) -> None:
    before = scene.files()
    try:
        await scene.rewinds.undo_rewind("last", keep_changed=keep)
    except NotFoundError:
        assert scene.files() == before
    except RewindConflictError:
        assert not keep
        assert scene.files() == before


async def _rewind(scene: Scene, which: int, *, keep: bool, undo: bool) -> None:
    numbers = [entry.number for entry in (await scene.conversation()).entries][::2]
    if not numbers:
        return
    before, branch = scene.files(), await scene.branch()
    prompt = numbers[which % len(numbers)]
    plan = await scene.rewinds.plan_rewind("last", prompt)
    try:
        await scene.rewinds.rewind("last", prompt, keep_changed=keep)
    except RewindConflictError:
        assert plan.code.conflicts
        assert not keep
        assert (scene.files(), await scene.branch()) == (before, branch)
        return
    changed = {path for path, data in scene.files().items() if before.get(path) != data}
    assert changed == {file.path for file in plan.code.files}
    assert (await scene.conversation()).entries[-1:] == [] or plan.head is not None
    if undo:
        await scene.rewinds.undo_rewind("last")
        assert (scene.files(), await scene.branch()) == (before, branch)


def test_rewind_that_is_killed_can_be_undone(tmp_path: Path) -> None:
    script = Path(__file__).parent / "killed_rewind.py"
    run = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    kills, begun = map(int, run.stdout.split())
    assert kills > begun > 3
