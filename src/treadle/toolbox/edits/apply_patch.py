"""apply_patch: changes files with a patch."""

from pydantic import Field

from treadle.edits.model import EditError
from treadle.edits.patches import parse_patch
from treadle.edits.requests import EditRequest, RenameFile
from treadle.events.types import ToolView
from treadle.toolbox.edits.proposals import EditResult, Proposer, inside, tool_error, view
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect


class ApplyPatchArguments(Arguments):
    """The patch to apply."""

    diff: str = Field(
        min_length=1,
        description="The patch, in one of the two formats.",
    )


class ApplyPatch(Tool[ApplyPatchArguments, EditResult]):
    """Changes, adds, removes and renames files according to a patch."""

    name = "apply_patch"
    description = (
        "Change, add, delete or rename files by one patch: a unified diff, or `*** Begin Patch` / "
        "`*** Update File: path` / `@@ enclosing line` / lines that begin with space, - or + / "
        "`*** End Patch`. Context and removed lines must match the file; line numbers need not. A "
        "person approves the diff; then all of it is applied, or nothing."
    )
    arguments = ApplyPatchArguments
    result = EditResult
    effect = ToolEffect.WRITE
    proposes = True

    def __init__(self, proposer: Proposer) -> None:
        self._proposer = proposer

    def subjects(self, arguments: ApplyPatchArguments) -> tuple[Subject, ...]:
        """Return an approval subject for each path of the patch.

        Raises ToolError if the patch cannot be parsed.
        """
        return _subjects(_requests(arguments))

    def writes(self, arguments: ApplyPatchArguments) -> frozenset[str]:
        root = self._proposer.edits.root
        return frozenset(inside(root, path) for path in _paths(_requests(arguments)))

    async def run(self, arguments: ApplyPatchArguments, context: ToolContext) -> EditResult:
        requests = _requests(arguments)
        return await self._proposer.propose(
            lambda: requests, context, _subjects(requests), field="diff"
        )

    def view(self, arguments: ApplyPatchArguments, result: EditResult) -> ToolView:  # noqa: ARG002
        return view(result)


def _requests(arguments: ApplyPatchArguments) -> tuple[EditRequest, ...]:
    try:
        return parse_patch(arguments.diff)
    except EditError as error:
        raise tool_error(error, "diff") from error


def _subjects(requests: tuple[EditRequest, ...]) -> tuple[Subject, ...]:
    return tuple(Subject(path=path) for path in _paths(requests))


def _paths(requests: tuple[EditRequest, ...]) -> list[str]:
    """The paths that the requests read or write, without duplicates."""
    paths = [request.path for request in requests]
    paths += [request.target for request in requests if isinstance(request, RenameFile)]
    return list(dict.fromkeys(paths))
