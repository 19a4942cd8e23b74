"""The project's own pages as tests see them: their commands and their links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(
    sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=lambda p: p.as_posix())
)
_FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Command:
    """A line that a page asks its reader to type."""

    page: str
    line: int
    text: str

    @property
    def runs_here(self) -> bool:
        """False for a line marked `# needs …` (a key, a server, an id of the reader's)."""
        return "# needs " not in self.text

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def commands(page: Path) -> Iterator[Command]:
    """Lines after `$ ` in console blocks, and all lines of bash blocks, that run treadle."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCE.finditer(text):
        first = text.count("\n", 0, block.start("body")) + 1
        for offset, line in enumerate(block["body"].splitlines()):
            typed = line.removeprefix("$ ")
            is_command = {"console": typed != line, "bash": True}.get(block["language"], False)
            if is_command and re.search(r"(^|\s)(treadle|make)\s", f"{typed} "):
                yield Command(page.relative_to(ROOT).as_posix(), first + offset, typed)


def links(page: Path) -> Iterator[tuple[str, Path]]:
    """Links to files of the project, as written and as the target file."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in _LINK.finditer(text):
        target = match["target"]
        if not re.match(r"[a-z]+:|#", target):
            yield target, (page.parent / target.partition("#")[0]).resolve()
