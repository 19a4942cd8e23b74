"""What belongs to one repository: its index and the tools that read it.

Imports stay light: `treadle search` opens an index and nothing else.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.embedding import embedder_for
from treadle.code import CodeIndex
from treadle.paths import user_cache_dir

if TYPE_CHECKING:
    from treadle.tools.registry import Registry


def open_index(root: Path) -> CodeIndex:
    """The index of a repository, as it was last left; `refresh` brings it up to date.

    Raises StoreError when the cache folder cannot be written.
    """
    return CodeIndex.open(root, cache_dir=user_cache_dir(), embedder=embedder_for(root))


def build_registry(root: Path, index: CodeIndex) -> "Registry":
    """Every tool that a model, the command line or another program may call."""
    from treadle.toolbox.code import code_tools
    from treadle.tools.registry import Registry

    return Registry(code_tools(root, index))
