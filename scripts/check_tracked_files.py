"""Finds what must not be in a tracked file: addresses of package registries, paths of a machine.

A clone has to install from whatever index its machine is set to, and to work in any folder.
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
"""Numbers, megabytes of them, and no text."""


def machine_paths(*folders: Path) -> Iterator[str]:
    """Patterns for folders of one machine; one like `/src` or `/usr` is on many and left out."""
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
