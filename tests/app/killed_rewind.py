"""Kills copies of itself during a rewind, and checks that undoing the rewind restores every file.

It prints the number of kills, and at how many of them a proposal was already undone.
"""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.app.rewinding import opened
from tests.fakes.system import FakeSystem
from treadle.app.rewind import Rewinds
from treadle.app.stores import Stores
from treadle.edits.model import ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import ReplaceEdit
from treadle.edits.service import Edits
from treadle.errors import NotFoundError

Snapshot = dict[str, bytes]


def main(folder: Path) -> None:
    begun = 0
    for kills, number in enumerate(range(30, 10_000, 37)):
        place = folder / str(number)
        root = place / "root"
        root.mkdir(parents=True)
        os.environ["TREADLE_HOME"] = str(place / "home")
        for name in "ab":
            (root / f"{name}.txt").write_text("one\ntwo\nthree\n")
        conversation, before, original = asyncio.run(_prepare(root))
        child = os.fork()
        if child == 0:
            asyncio.run(_die_at(number, root, conversation))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WEXITSTATUS(status) == 0:
            sys.stdout.write(f"{kills} {begun}\n")
            return
        begun += asyncio.run(_check(root, conversation, before, original))


async def _prepare(root: Path) -> tuple[UUID, Snapshot, Snapshot]:
    async with opened(root) as scene:
        original = scene.files()
        changes = [[ReplaceEdit(f"{name}.txt", "two", "TWO")] for name in "ab"]
        await scene.prompt("change", *changes, [ReplaceEdit("a.txt", "TWO", "zwei")])
        return scene.id, scene.files(), original


async def _die_at(number: int, root: Path, conversation: UUID) -> None:
    async with opened(root, conversation) as scene:
        system = FakeSystem()
        system.do_at(number, lambda: os._exit(1))
        store = ProposalStore.open(Stores.of_user().proposals)
        app = replace(scene.app, edits=Edits(root, store, system=system))
        await Rewinds(app).rewind(str(conversation), 0)


async def _check(root: Path, conversation: UUID, before: Snapshot, original: Snapshot) -> bool:
    """Undo the interrupted rewind, then rewind again. Whether a proposal was undone."""
    async with opened(root, conversation) as scene:
        begun = any(each.state is not ProposalState.APPLIED for each in scene.edits.list())
        try:
            await scene.rewinds.undo_rewind(str(conversation))
        except NotFoundError:
            assert not begun
        assert scene.files() == before
        assert len(await scene.branch()) == 2
        await scene.rewinds.rewind(str(conversation), 0)
        assert scene.files() == original
        return begun


if __name__ == "__main__":
    main(Path(sys.argv[1]))
