"""apply_code_edit: replaces items, texts or ranges in files. It applies all edits or none."""

from typing import Self

from pydantic import Field, model_validator

from treadle.edits.requests import EditRequest, LineRangeEdit, RangeEdit, ReplaceEdit
from treadle.events.types import ToolView
from treadle.toolbox.edits.item_ranges import EditPart, ItemCode, ItemRanges
from treadle.toolbox.edits.proposals import EditResult, Proposer, inside, view
from treadle.tools.approvals.question import Subject
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect

EXPECTED_HASH = Field(
    default=None,
    pattern=r"^[0-9a-f]{64}$",
    description="`content_hash` of the file as you read it. The edit is refused if the file has "
    "changed since.",
)


class Replacement(EditPart):
    """A passage of the file, and its new text."""

    old: str = Field(
        min_length=1,
        description="The exact text in the file, with enough lines around it to occur once.",
    )
    new: str
    all: bool = Field(default=False, description="Replace every occurrence of `old`.")


class ByteRange(EditPart):
    """A range of bytes of the file (the end is exclusive), and its new text."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    code: str


class LineRange(EditPart):
    """Lines `first` to `last` (inclusive, from 1). `last` = `first` - 1 inserts before `first`."""

    first: int = Field(ge=1)
    last: int = Field(ge=0)
    code: str


class CodeEdit(EditPart):
    """One edit of a file, with exactly one of `item`, `replace`, `range` and `lines`."""

    file: str = Field(min_length=1, description="Path, relative to the root.")
    expected_hash: str | None = EXPECTED_HASH
    item: ItemCode | None = None
    replace: Replacement | None = None
    range: ByteRange | None = None
    lines: LineRange | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [each for each in (self.item, self.replace, self.range, self.lines) if each]
        if len(given) != 1:
            raise ValueError(
                "an edit needs exactly one of `item`, `replace`, `range` and `lines`, but this "
                f"edit has {len(given) or 'none'}"
            )
        return self


class ApplyCodeEditArguments(Arguments):
    """The edits. Either all are applied or none."""

    edits: list[CodeEdit] = Field(
        min_length=1, max_length=500, description="The edits, in any order."
    )


class ApplyCodeEdit(Tool[ApplyCodeEditArguments, EditResult]):
    """Replaces parts of existing files."""

    name = "apply_code_edit"
    description = (
        "Change existing files: replace an item by canonical path, a text by its exact content, "
        "or a range of bytes or lines. Put related changes into one call: all of them are "
        "applied, or none. They refer to the files as they are now and must not overlap. A person "
        "sees the diff and approves it before anything is written."
    )
    arguments = ApplyCodeEditArguments
    result = EditResult
    effect = ToolEffect.WRITE
    proposes = True

    def __init__(self, proposer: Proposer, ranges: ItemRanges) -> None:
        self._proposer = proposer
        self._ranges = ranges

    def subjects(self, arguments: ApplyCodeEditArguments) -> tuple[Subject, ...]:
        return tuple(Subject(path=path) for path in dict.fromkeys(e.file for e in arguments.edits))

    def writes(self, arguments: ApplyCodeEditArguments) -> frozenset[str]:
        return frozenset(inside(self._proposer.edits.root, edit.file) for edit in arguments.edits)

    async def run(self, arguments: ApplyCodeEditArguments, context: ToolContext) -> EditResult:
        def requests() -> list[EditRequest]:
            return [self._request(number, edit) for number, edit in enumerate(arguments.edits)]

        return await self._proposer.propose(requests, context, self.subjects(arguments))

    def view(self, arguments: ApplyCodeEditArguments, result: EditResult) -> ToolView:  # noqa: ARG002
        return view(result)

    def _request(self, number: int, edit: CodeEdit) -> EditRequest:
        file, expected = edit.file, edit.expected_hash
        if edit.replace is not None:
            replace = edit.replace
            return ReplaceEdit(file, replace.old, replace.new, replace.all, expected)
        if edit.range is not None:
            return RangeEdit(file, edit.range.start, edit.range.end, edit.range.code, expected)
        if edit.lines is not None:
            return LineRangeEdit(file, edit.lines.first, edit.lines.last, edit.lines.code, expected)
        assert edit.item is not None  # `CodeEdit` requires exactly one of the four fields
        return self._ranges.edit(number, file, edit.item, expected)
