"""Copies inside of the tree (`old/src/app.py` of `src/app.py`): they rank below the original."""

from collections import defaultdict
from collections.abc import Sequence

from treadle.code.ranking import Hit

_WORTH = 0.5


def copies_last(hits: Sequence[Hit]) -> list[Hit]:
    """`hits` in their order, those that another hit is the original of with half of their score.

    A copy has the name and kind of its original, and a path that ends in the whole path of it. A
    path of one part says little, so there the items must also be of one length.
    """
    files: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for hit in hits:
        files[hit.name, hit.kind].setdefault(hit.file, hit.end_byte - hit.start_byte)
    marked = [(hit, _is_copy(hit, files[hit.name, hit.kind])) for hit in hits]
    if not any(copy for _, copy in marked):
        return list(hits)
    worth = [hit._replace(score=hit.score * _WORTH) if copy else hit for hit, copy in marked]
    return sorted(worth, key=lambda hit: -hit.score)


def _is_copy(hit: Hit, files: dict[str, int]) -> bool:
    if len(files) < 2:
        return False
    rest = hit.file.partition("/")[2]
    while rest:
        length = files.get(rest)
        if length is not None and ("/" in rest or length == hit.end_byte - hit.start_byte):
            return True
        rest = rest.partition("/")[2]
    return False
