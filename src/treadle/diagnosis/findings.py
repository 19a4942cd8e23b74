"""Findings in the spans of a store, found by the detectors and by the user's rules."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources

from treadle import __version__, diagnosis
from treadle.diagnosis import detectors
from treadle.diagnosis.detectors import Finding, Layer, Rule, SpanExamination
from treadle.diagnosis.detectors.detection import combine_worst
from treadle.diagnosis.detectors.examination import decode, encode
from treadle.diagnosis.detectors.examiner import Examiner
from treadle.diagnosis.evidence import SpanReference
from treadle.spans.span import Span
from treadle.traces.query.conditions import Query
from treadle.traces.store.examinations import ExaminationTable, SpanExaminer
from treadle.traces.store.span_reader import EVERYTHING, SpanReader


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of all spans that match a query, as `detect` over these spans returns them.

    `snapshot` has the meaning of `Summary.snapshot`. `spans` is the number of matching spans. One
    call of `findings` examines a limited number of new spans. `unexamined` is the number of new
    spans that remain for later calls. `total` is the number of all findings. `data` contains the
    findings in order of time. With a limit, it contains only the most severe findings.
    """

    snapshot: int
    spans: int
    unexamined: int
    total: int
    data: tuple[Finding, ...]


def findings(
    reader: SpanReader,
    query: Query = EVERYTHING,
    *,
    rules: Sequence[Rule] = (),
    limit: int | None = None,
) -> Findings:
    """Return the findings of the spans that match `query`, each at its first occurrence.

    `limit` is the maximum number of findings in the result. None means no limit.
    """
    found = reader.examinations(query, examiners=examiners(rules))
    examined = (
        SpanExamination(
            SpanReference(each.trace_id, each.span_id), each.start_us, *decode(each.result)
        )
        for each in found.data
    )
    total, data = combine_worst(examined, limit)
    return Findings(found.snapshot, found.spans, found.unexamined, total, data)


def examiners(rules: Sequence[Rule] = ()) -> tuple[SpanExaminer, ...]:
    """Return an examiner for the detectors and, if there are rules, an examiner for the rules."""
    ours = _digest_of_detectors()
    made = [
        SpanExaminer(ExaminationTable.EXAMINED, ours, _encoded((), (Layer.SIGNALS, Layer.PATTERNS)))
    ]
    if rules:
        plain = [{**asdict(rule), "roles": sorted(rule.roles)} for rule in rules]
        digest = blake2b(ours + json.dumps(plain).encode(), digest_size=16).digest()
        made.append(SpanExaminer(ExaminationTable.RULED, digest, _encoded(rules, (Layer.RULES,))))
    return tuple(made)


def _encoded(rules: Sequence[Rule], layers: Collection[Layer]) -> Callable[[Span], bytes | None]:
    examiner = Examiner(rules, layers=layers)

    def examine(span: Span) -> bytes | None:
        examined = examiner.examine(span)
        return encode(examined) if examined.texts else None

    return examine


_READ = ("evidence.py", "field_paths.py", "span_messages.py")
"""Modules outside of the detectors that affect their findings."""


@cache
def _digest_of_detectors() -> bytes:
    """Return a digest of the detectors' source, which serves as the version of the detectors."""
    digest = blake2b(__version__.encode(), digest_size=16)
    modules = [
        *resources.files(detectors).iterdir(),
        *map(resources.files(diagnosis).joinpath, _READ),
    ]
    for module in sorted(modules, key=lambda each: each.name):
        if module.name.endswith(".py"):
            digest.update(module.read_bytes())
    return digest.digest()
