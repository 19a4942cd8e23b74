"""create_file, delete_file and rename_file: create, delete and rename whole files."""

from abc import abstractmethod
from typing import ClassVar, Literal, TypeVar

from pydantic import Field

from treadle.edits.requests import CreateFile as Create
from treadle.edits.requests import DeleteFile as Delete
from treadle.edits.requests import EditRequest
from treadle.edits.requests import RenameFile as Rename
from treadle.events.types import ToolView
from treadle.toolbox.edits.apply_code_edit import EXPECTED_HASH
from treadle.toolbox.edits.proposals import EditResult, Proposer, inside, view
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect


class FileArguments(Arguments):
    """Base class of the arguments of the three tools. `path` is the path of the file."""

    path: str = Field(min_length=1, description="Path, relative to the root.")

    def paths(self) -> tuple[str, ...]:
        """The paths that the call writes."""
        return (self.path,)


class CreateFileArguments(FileArguments):
    """A new file and its content."""

    content: str = Field(description="The whole content, including the final line end.")
    on_exists: Literal["refuse", "overwrite"] = Field(
        default="refuse", description="What to do if the file exists."
    )


class DeleteFileArguments(FileArguments):
    """The file to delete."""

    expected_hash: str | None = EXPECTED_HASH


class RenameFileArguments(FileArguments):
    """The file and its new path."""

    target: str = Field(min_length=1, description="The new path; missing folders are created.")
    expected_hash: str | None = EXPECTED_HASH

    def paths(self) -> tuple[str, ...]:
        return (self.path, self.target)


A = TypeVar("A", bound=FileArguments)


class _FileTool(Tool[A, EditResult]):
    """Base class of the three tools of this module."""

    result = EditResult
    effect: ClassVar[ToolEffect] = ToolEffect.WRITE
    proposes: ClassVar[bool] = True

    def __init__(self, proposer: Proposer) -> None:
        self._proposer = proposer

    @abstractmethod
    def request(self, arguments: A) -> EditRequest:
        """Convert the arguments to an edit request."""

    def subjects(self, arguments: A) -> tuple[Subject, ...]:
        return tuple(Subject(path=path) for path in arguments.paths())

    def writes(self, arguments: A) -> frozenset[str]:
        return frozenset(inside(self._proposer.edits.root, path) for path in arguments.paths())

    async def run(self, arguments: A, context: ToolContext) -> EditResult:
        request = self.request(arguments)
        return await self._proposer.propose(
            lambda: (request,), context, self.subjects(arguments), field="path"
        )

    def view(self, arguments: A, result: EditResult) -> ToolView:  # noqa: ARG002
        return view(result)


class CreateFile(_FileTool[CreateFileArguments]):
    """Creates a file with its content."""

    name = "create_file"
    description = (
        "Create a file with its whole content and any missing folders. An existing file is "
        "refused, unless `on_exists` is `overwrite`. A person approves it first."
    )
    arguments = CreateFileArguments

    def request(self, arguments: CreateFileArguments) -> EditRequest:
        return Create(arguments.path, arguments.content, arguments.on_exists == "overwrite")


class DeleteFile(_FileTool[DeleteFileArguments]):
    """Deletes a file."""

    name = "delete_file"
    description = (
        "Delete a file. References to it in other files are not changed. A person approves it "
        "first, and can undo it."
    )
    arguments = DeleteFileArguments

    def request(self, arguments: DeleteFileArguments) -> EditRequest:
        return Delete(arguments.path, arguments.expected_hash)


class RenameFile(_FileTool[RenameFileArguments]):
    """Renames or moves a file."""

    name = "rename_file"
    description = (
        "Rename or move a file inside the repository; `target` must not exist. References to it "
        "in other files are not changed. A person approves it first."
    )
    arguments = RenameFileArguments

    def request(self, arguments: RenameFileArguments) -> EditRequest:
        return Rename(arguments.path, arguments.target, arguments.expected_hash)
