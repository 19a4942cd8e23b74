"""A message is reported where it first occurs; later histories only repeat it.

A conversation sends all of its messages again with every request, so one failed result stands in
the span of its tool and in every later request. Ids do not tell (they may be empty, or used
twice), so what is counted is content: the second time that the same content stands in one history,
or in the spans of tools, it is the second occurrence.
"""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b

from treadle.diagnosis.field_paths import parsed

Occurrence = tuple[str, int]
"""The digest of what a message says, and the number of this time that it is said, from 1."""


def content_of(kind: str, text: str) -> bytes:
    """The digest of a message; the same JSON, written otherwise, is the same content."""
    said = text.strip()
    if said[:1] in ("{", "["):
        with suppress(ValueError):  # it may be text that only looks like JSON
            said = json.dumps(parsed(said), sort_keys=True)
    return blake2b(f"{kind}\0{said}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class Numbering:
    """Which occurrence of its content a message is, counted over one history or one sequence."""

    seen: Counter[str] = field(default_factory=Counter)

    def occurrence(self, content: str) -> Occurrence:
        """The content and its number, from 1."""
        self.seen[content] += 1
        return content, self.seen[content]
