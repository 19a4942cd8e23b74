"""Finds text that must not be in a tracked file: registry addresses and paths of a machine.

A clone must install from the index that its machine is configured for, and work in any folder.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTRIES = (
    r"pypi[.]org|pythonhosted[.]org|registry[.]npmjs[.]|registry[.]yarnpkg[.]|crates[.]io"
    r"|proxy[.]golang[.]|deb[.]debian[.]|archive[.]ubuntu[.]"
)

DATA = {".npy"}
"""Megabytes of numbers, not text."""


def machine_paths(*folders: Path) -> Iterator[str]:
    """Patterns for folders of one machine; common ones such as `/src` or `/usr` are left out."""
    for folder in folders:
        if len(folder.parts) > 2 or folder == Path("/root"):
            yield re.escape(f"{folder}/")


def offences(pattern: re.Pattern[str]) -> Iterator[str]:
    """`file:line: what` for each tracked text line that `pattern` matches."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listing.decode(errors="surrogateescape").split("\0")):
        path = ROOT / name
        if not path.is_file() or path.suffix in DATA:
            continue
        text = path.read_bytes().decode(errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if match := pattern.search(line):
                yield f"{name}:{number}: {match[0]}"


def main() -> int:
    """Print the offences to standard error; 1 when there are any."""
    here = machine_paths(ROOT, Path.home(), Path(sys.base_prefix))
    pattern = re.compile("|".join([REGISTRIES, *here]))
    found = list(offences(pattern))
    for offence in found:
        sys.stderr.write(f"{offence} must not be in a tracked file\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
