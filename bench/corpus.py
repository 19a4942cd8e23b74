"""Code to measure with: the sources of installed packages, copied until there is enough."""

import itertools
import shutil
import sysconfig
from pathlib import Path

from treadle.code.parse.file import parse_file


def make_corpus(target: Path, items: int) -> None:
    """Fill `target` with copies of installed packages of about `items` items.

    If all packages together are too few, they are copied again with other names of the definitions,
    so that terms and postings grow as in a larger code base.
    """
    packages = Path(sysconfig.get_paths()["purelib"])
    sources = sorted(path.relative_to(packages) for path in packages.rglob("*.py"))
    sizes: dict[Path, int] = {}
    counted = 0
    for turn in itertools.count():
        for source in sources:
            if source not in sizes:
                sizes[source] = len(parse_file(packages, str(source)).items)
            place = target / f"round{turn}" / source
            place.parent.mkdir(parents=True, exist_ok=True)
            if turn == 0:
                shutil.copyfile(packages / source, place)
            else:
                text = (packages / source).read_bytes()
                place.write_bytes(text.replace(b"def ", b"def v%d_" % turn))
            counted += sizes[source]
            if counted >= items:
                return
