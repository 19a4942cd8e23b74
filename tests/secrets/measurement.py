"""Measures how many secrets of the corpus are found, and how many harmless texts are changed."""

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.secrets.corpus.harmless import harmless
from tests.secrets.corpus.positives import ASSIGNED, Planted, planted
from treadle.secrets import redact

_BASE64 = re.compile(r"[A-Za-z0-9+/]{60,}={0,2}")


@dataclass(frozen=True, slots=True)
class Figures:
    """The number of texts of each family or kind, and the number that redaction changed."""

    vendors: Mapping[str, tuple[int, int]]
    assigned: Mapping[str, tuple[int, int]]
    harmless: Mapping[str, tuple[int, int]]

    @property
    def recall(self) -> float:
        """The fraction of planted secrets that is redacted."""
        return _share([*self.vendors.values(), *self.assigned.values()])

    @property
    def false_positives(self) -> float:
        """The fraction of harmless texts that is changed."""
        return _share(self.harmless.values())


def measure(seed: int = 20_261_129) -> Figures:
    """Redact the corpus of this seed."""
    found: dict[str, list[bool]] = defaultdict(list)
    for each in planted(seed):
        found[each.family].append(is_gone(each))
    changed: dict[str, list[bool]] = defaultdict(list)
    for kind, text in harmless(seed):
        changed[kind].append(redact(text) != text)
    return Figures(
        {name: _counted(gone) for name, gone in found.items() if name not in ASSIGNED},
        {name: _counted(gone) for name, gone in found.items() if name in ASSIGNED},
        {name: _counted(each) for name, each in changed.items()},
    )


def is_gone(planted: Planted) -> bool:
    """Whether no part of the secret is left, in plain text or in base64."""
    redacted = redact(planted.text)
    if redacted == planted.text:
        return False
    runs = _BASE64.findall(redacted)
    read = [
        redacted,
        *(base64.b64decode(run[: len(run) // 4 * 4]).decode("latin-1") for run in runs),
    ]
    secret = max(planted.secret.split("\n"), key=len)
    return not any(secret[-10:] in text or secret in text for text in read)


def _counted(flags: list[bool]) -> tuple[int, int]:
    return len(flags), sum(flags)


def _share(counts: Iterable[tuple[int, int]]) -> float:
    pairs = list(counts)
    return sum(part for _, part in pairs) / sum(total for total, _ in pairs)
