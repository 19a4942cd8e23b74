"""Tools that read the code of a repository."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.toolbox.code.code_item_edges import CodeItemEdges
from treadle.toolbox.code.code_item_lookup import CodeItemLookup
from treadle.toolbox.code.get_file_metadata import GetFileMetadata
from treadle.toolbox.code.grep import Grep
from treadle.toolbox.code.list_dir import ListDir
from treadle.toolbox.code.read_file import ReadFile
from treadle.toolbox.code.request_code_context import RequestCodeContext
from treadle.toolbox.code.workspace import Workspace
from treadle.tools.contract import Tool

if TYPE_CHECKING:
    from treadle.code import CodeIndex

__all__ = ["code_tools"]


def code_tools(root: Path, index: "CodeIndex") -> list[Tool[Any, Any]]:
    """Create the tools that read the repository at `root`, whose index is `index`."""
    workspace = Workspace(root.resolve(), index)
    return [
        RequestCodeContext(workspace),
        ReadFile(workspace),
        ListDir(workspace),
        Grep(workspace),
        GetFileMetadata(workspace),
        CodeItemLookup(workspace),
        CodeItemEdges(workspace),
    ]
