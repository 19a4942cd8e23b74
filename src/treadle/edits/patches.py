"""The text of a patch to edit requests: unified diffs and the patches that models write."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.edits.patch_hunks import Lines, mismatch, unified_hunks, update_hunks
from treadle.edits.patch_names import git_names, name_of, same_file
from treadle.edits.requests import (
    CreateFile,
    DeleteFile,
    EditRequest,
    PatchEdit,
    PatchHunk,
    RenameFile,
)

_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _BEGIN, _END = "*** Move to: ", "*** Begin Patch", "*** End Patch"

_IGNORED = ("index ", "similarity index ", "dissimilarity index ")
_MODES = ("old mode ", "new mode ")


def parse_patch(text: str) -> tuple[EditRequest, ...]:
    """The edits of a unified diff (git's or plain) or of a `*** Begin Patch` patch.

    Line numbers and counts may be wrong, lines may end with CRLF, and fences of Markdown and
    prose may stand around it. Raises EditError of kind parsing, with the line, for anything that
    cannot be read, and for changes of file modes, copies and binary patches.
    """
    lines = Lines(text)
    if any(line.startswith((_BEGIN, _ADD, _DELETE, _UPDATE)) for line in lines.texts):
        found = tuple(_model_style(lines))
    else:
        found = tuple(_unified(lines))
    if not found:
        raise mismatch(
            1, "does not start a patch: there is neither `--- a/FILE`, `+++ b/FILE` and `@@`, nor "
"`*** Begin Patch`"
        )  # fmt: skip
    return found


def _model_style(lines: Lines) -> Iterator[EditRequest]:
    """The files of a patch between `*** Begin Patch` and `*** End Patch`."""
    while not lines.done and not lines.text.startswith((_BEGIN, _ADD, _DELETE, _UPDATE)):
        lines.skip()
    while not lines.done:
        line = lines.text.rstrip()
        if line.startswith(_ADD):
            path = lines.take().removeprefix(_ADD).strip()
            yield CreateFile(path, "".join(f"{added}\n" for added in _added(lines)))
        elif line.startswith(_DELETE):
            yield DeleteFile(lines.take().removeprefix(_DELETE).strip())
        elif line.startswith(_UPDATE):
            yield from _update(lines)
        elif line == _END:
            return
        elif line == _BEGIN or not line or line.startswith(("*** Environment ID: ", "```")):
            lines.skip()
        else:
            raise mismatch(lines.number, "is neither a hunk line nor a file header")


def _added(lines: Lines) -> Iterator[str]:
    while not lines.done and lines.text.startswith("+"):
        yield lines.take()[1:]
    lines.skip_empty()


def _update(lines: Lines) -> Iterator[EditRequest]:
    number = lines.number
    path = lines.take().removeprefix(_UPDATE).strip()
    moved = not lines.done and lines.text.startswith(_MOVE)
    if moved:
        yield RenameFile(path, lines.take().removeprefix(_MOVE).strip())
    hunks = tuple(update_hunks(lines))
    if hunks:
        yield PatchEdit(path, hunks)
    elif not moved:
        raise mismatch(number, f"updates {path}, but has no hunk")


@dataclass(slots=True)
class _Section:
    """What a unified diff says of one file."""

    number: int
    old: str | None = None
    new: str | None = None
    names: tuple[str, str] | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    created: bool = False
    deleted: bool = False
    hunks: tuple[PatchHunk, ...] = ()

    def requests(self) -> Iterator[EditRequest]:
        """The edits. Raises EditError when its parts do not fit together."""
        if "from" in self.renamed and "to" in self.renamed:
            yield RenameFile(self.renamed["from"], self.renamed["to"])
            if self.hunks:
                yield PatchEdit(self.renamed["from"], self.hunks)
            return
        old, new = self._paths()
        if self.created or old is None:
            yield CreateFile(self._named(new), self._content("+"))
        elif self.deleted or new is None:
            content = self._content("-") if self.hunks else None
            yield DeleteFile(self._named(old), content=content)
        elif not self.hunks:
            raise mismatch(self.number, f"names {new}, but has no hunk")
        else:
            yield PatchEdit(new, self.hunks)

    def _paths(self) -> tuple[str | None, str | None]:
        if self.old is not None and self.new is not None:
            found = same_file(self.old, self.new, git=self.names is not None)
            if found is None:
                raise mismatch(
                    self.number, f"names two files, {self.old} and {self.new}, without a rename"
                )
            return found
        if self.names is None:
            raise mismatch(self.number, "starts a file without its other name")
        return self.names

    def _named(self, path: str | None) -> str:
        if path is None:
            raise mismatch(self.number, "creates and deletes the same file")
        return path

    def _content(self, side: str) -> str:
        """What the hunks of a new file add, or those of one that goes remove."""
        lines = [line for hunk in self.hunks for line in hunk.lines]
        if any(mark != side for mark, _ in lines):
            raise mismatch(
                self.number, "creates or deletes a file, but its hunks also have other lines"
            )
        content = "".join(f"{text}\n" for _, text in lines)
        last = self.hunks[-1] if self.hunks else None
        unended = last and (last.no_newline_new if side == "+" else last.no_newline_old)
        return content[:-1] if unended else content


def _unified(lines: Lines) -> Iterator[EditRequest]:
    """The files of a unified diff."""
    section: _Section | None = None
    while not lines.done:
        line = lines.text
        if line.startswith("diff --git "):
            if section is not None:
                yield from section.requests()
            section = _Section(lines.number, names=git_names(line, lines.number))
            lines.skip()
        elif line.startswith("--- ") and lines.next.startswith("+++ "):
            if section is not None and (section.old is not None or section.names is None):
                yield from section.requests()
                section = None
            section = section or _Section(lines.number)
            section.old = name_of(lines.take()[4:], lines.number)
            section.new = name_of(lines.take()[4:], lines.number)
            section.hunks = tuple(unified_hunks(lines))
        elif section is not None:
            _extended(section, lines)
        elif line.startswith("@@ -"):
            raise mismatch(lines.number, "starts a hunk before a file is named")
        else:
            lines.skip()
    if section is not None:
        yield from section.requests()


def _extended(section: _Section, lines: Lines) -> None:
    """One line of git's own headers, or prose behind the hunks."""
    number, line = lines.number, lines.take()
    before_hunks = section.old is None
    if line.startswith(("GIT binary patch", "Binary files ")):
        raise mismatch(number, "belongs to a binary patch, which is not supported")
    if before_hunks and line.startswith(("copy from ", "copy to ")):
        raise mismatch(number, "copies a file, which is not supported: create it instead")
    if before_hunks and line.startswith(_MODES):
        raise mismatch(number, "changes the mode of a file, which is not supported: remove it")
    if before_hunks and line.startswith(("new file mode ", "deleted file mode ")):
        if line.endswith(("120000", "160000")):
            raise mismatch(number, "belongs to a link or a submodule, which is not supported")
        if line.startswith("new") and line.endswith("755"):
            raise mismatch(
                number, "creates an executable file, which is not supported: write 100644, "
"and let the person set the mode"
            )  # fmt: skip
        section.created = line.startswith("new")
        section.deleted = not section.created
    elif before_hunks and line.startswith(("rename from ", "rename to ")):
        _, side, name = line.split(" ", 2)
        section.renamed[side] = name_of(name, number) or name
    elif line.startswith("@@ -"):
        raise mismatch(number, "starts a hunk before `---` and `+++` name its file")
