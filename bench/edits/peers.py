"""Other tools for the same tasks, in a separate environment below `.cache/bench`."""

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.edits.scoring import Score
from bench.edits.tasks import Task
from bench.retrieval.packages import CACHE, UnreachableError

PACKAGES = (
    "aider-chat==0.86.2",
    "apply-edit-block==0.1.0",
    "codex-apply-patch==0.4.0",
    "diff-match-patch==20241021",
    "packaging==26.4",
    "patch-ng==1.19.1",
    "purepatch==0.1.1",
    "tqdm==4.70.1",
    "whatthepatch==1.0.7",
)
"""Without their dependencies: an edit needs only the three of aider that are here."""

TOOLS = {
    "replace": ("aider search/replace", "apply-edit-block", "purepatch edit"),
    "unified diff": (
        "git apply",
        "GNU patch",
        "aider udiff",
        "patch-ng",
        "purepatch diff",
        "whatthepatch",
    ),
    "model patch": ("codex-apply-patch", "aider patch"),
}
"""By the form of edit that they accept."""


def peer_score(tool: str, tasks: Sequence[Task]) -> Score:
    """The outcomes of another tool. Raises UnreachableError if it is not available."""
    if tool == "GNU patch" and shutil.which("patch") is None:
        raise UnreachableError("there is no patch program")
    asked = {
        "tool": tool,
        "tasks": [[base64.b64encode(task.data).decode(), *task.texts] for task in tasks],
    }
    subject = Path(__file__).with_name("peer_subject.py")
    try:
        done = subprocess.run(
            [str(_environment()), str(subject)],
            input=json.dumps(asked), capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnreachableError(f"{tool}: {error}") from error
    answer = json.loads(done.stdout)
    print(f"{tool} refused by {answer['failures']}", file=sys.stderr)
    score = Score()
    for task, result in zip(tasks, answer["results"], strict=True):
        score.add(task, None if result is None else base64.b64decode(result))
    return score


def _environment() -> Path:
    """The interpreter of the environment, which is created if needed."""
    folder = CACHE / "peers" / "edits"
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", *PACKAGES]
        subprocess.run(install, check=True, stdout=sys.stderr)
        complete.touch()
    return python
