"""Tools that change files. Each change is a proposal that needs approval."""

from typing import TYPE_CHECKING, Any

from treadle.code.syntax.check import broken
from treadle.config.model import EditSettings
from treadle.edits.service import Edits
from treadle.toolbox.edits.apply_code_edit import ApplyCodeEdit
from treadle.toolbox.edits.apply_patch import ApplyPatch
from treadle.toolbox.edits.file_tools import CreateFile, DeleteFile, RenameFile
from treadle.toolbox.edits.item_ranges import ItemRanges
from treadle.toolbox.edits.proposals import Proposer
from treadle.tools.contract import Tool

if TYPE_CHECKING:  # the index imports libraries that are slow to load
    from treadle.code import CodeIndex

__all__ = ["edit_tools"]


def edit_tools(edits: Edits, index: "CodeIndex", settings: EditSettings) -> list[Tool[Any, Any]]:
    """Create the tools that change the repository of `edits`, whose index is `index`."""
    edits = edits.with_examiner(broken)
    proposer = Proposer(edits, index, settings)
    return [
        ApplyCodeEdit(proposer, ItemRanges(edits, index)),
        ApplyPatch(proposer),
        CreateFile(proposer),
        DeleteFile(proposer),
        RenameFile(proposer),
    ]
