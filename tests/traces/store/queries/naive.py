"""Spans filtered, sorted and summed in plain Python, for comparison with what the store answers."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.spans.naive_counts import naive_counted
from treadle.spans.span import Span, SpanKind, SpanStatus, more_complete, true_root
from treadle.traces.query import (
    Condition,
    Field,
    GroupBy,
    Grouping,
    Operator,
    Query,
    Sort,
    SortKey,
)
from treadle.traces.query.conditions import NUMERIC, PROPERTIES
from treadle.traces.query.patterns import compiled

NANO = 1_000_000_000


@dataclass(frozen=True)
class NaiveSpan:
    """A span with what follows from the others."""

    span: Span
    run: str
    thread: str
    counted: bool
    fault: bool
    properties: Mapping[str, str]
    labels: tuple[str, ...]

    @property
    def identity(self) -> tuple[str, str]:
        return self.span.trace_id, self.span.span_id

    @property
    def tokens(self) -> int | None:
        known = [n for n in (self.span.tokens.input, self.span.tokens.output) if n is not None]
        return sum(known) if known else None

    @property
    def nano(self) -> int | None:
        return None if self.span.cost is None else round(self.span.cost * NANO)

    def amount(self, field: Field) -> int | None:
        """What is compared of one of the fields that are numbers."""
        return {
            Field.COST: self.nano,
            Field.DURATION: self.span.duration_us,
            Field.TTFT: self.span.time_to_first_token_us,
            Field.TOKENS: self.tokens,
            Field.INPUT: self.span.tokens.input,
            Field.OUTPUT: self.span.tokens.output,
            Field.CACHED: self.span.tokens.cached,
            Field.START: self.span.start_us,
        }[field]


def kept(versions: Iterable[Span]) -> list[NaiveSpan]:
    """The most complete version of each span, with its run, its thread and its inherited values."""
    spans: dict[tuple[str, str], Span] = {}
    for span in versions:
        key = (span.trace_id, span.span_id)
        spans[key] = more_complete(spans[key], span) if key in spans else span
    runs = _derived(spans.values(), lambda span: span.trace_id, lambda span: span.run_id)
    run_of = {trace: own if own is not None else trace for trace, own in runs.items()}
    threads = _threads(spans.values(), run_of)
    counted_keys = naive_counted(spans.values())
    faults = naive_faults(spans.values())
    found = []
    for key, span in spans.items():
        run = run_of[span.trace_id]
        thread = threads[run]
        own_thread = run if thread is None else thread
        root = _root(spans.values(), span.trace_id)
        properties = _properties(root) | _properties(span)
        labels = tuple(sorted({*span.labels, *_inherited_labels(root)}))
        counted = key in counted_keys
        fault = key in faults
        found.append(NaiveSpan(span, run, own_thread, counted, fault, properties, labels))
    return found


def naive_faults(spans: Iterable[Span]) -> set[tuple[str, str]]:
    """The identities of the failed spans without a failed child."""
    failed = [span for span in spans if span.status is SpanStatus.ERROR]
    parents = {(span.trace_id, span.parent_id) for span in failed if span.parent_id != span.span_id}
    return {key for span in failed if (key := (span.trace_id, span.span_id)) not in parents}


def _root(spans: Iterable[Span], trace_id: str) -> Span | None:
    root = true_root([each for each in spans if each.trace_id == trace_id])
    is_child = root is not None and root.parent_id not in {None, root.span_id}
    return None if is_child else root


def _inherited_labels(root: Span | None) -> list[str]:
    """The labels of a root that Treadle did not set."""
    return [] if root is None else [each for each in root.labels if "treadle:" not in each]


def _properties(span: Span | None) -> dict[str, str]:
    """The user, the release and the metadata that a span states."""
    if span is None:
        return {}
    named = {"user": span.user, "release": span.release} | {
        f"metadata.{key}": str(value) for key, value in span.metadata.items()
    }
    return {name: value for name, value in named.items() if value is not None}


def _derived(
    spans: Iterable[Span], whole: Callable[[Span], str], own: Callable[[Span], str | None]
) -> dict[str, str | None]:
    smallest: dict[str, str | None] = {}
    for span in spans:
        name, before = own(span), smallest.get(whole(span))
        known = [each for each in (name, before) if each is not None]
        smallest[whole(span)] = min(known) if known else None
    return smallest


def _threads(spans: Iterable[Span], run_of: Mapping[str, str]) -> dict[str, str | None]:
    """The thread of each run: the smallest one of its traces. A root names that of its trace."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    named: dict[str, list[str]] = {}
    for trace, members in traces.items():
        root = true_root(members)
        assert root is not None
        own = [each.thread_id for each in members if each.thread_id is not None]
        own = own if root.thread_id is None else [root.thread_id]
        named.setdefault(run_of[trace], []).extend(own)
    return {run: min(own) if own else None for run, own in named.items()}


def fits(found: NaiveSpan, query: Query) -> bool:
    """Whether all conditions hold."""
    return all(_fits(found, each) is not each.negated for each in query.conditions)


def _fits(found: NaiveSpan, condition: Condition) -> bool:
    span, operator, values = found.span, condition.operator, condition.values
    if condition.field is Field.ERROR:
        return span.status is SpanStatus.ERROR
    if condition.field is Field.TEXT:
        return _holds(span, str(values[0]), begins=operator is Operator.BEGINS)
    if condition.field in NUMERIC:
        number = found.amount(condition.field)
        return number is not None and _compares(number, operator, values)
    named: dict[Field, Sequence[str | None]] = {
        Field.TRACE: [span.trace_id],
        Field.SPAN: [span.span_id],
        Field.PARENT: [span.parent_id],
        Field.RUN: [found.run],
        Field.THREAD: [found.thread],
        Field.KIND: [span.kind.value],
        Field.OPERATION: [span.operation],
        Field.NAME: [span.name],
        Field.LABEL: found.labels,
        Field.STATUS: [span.status.value],
        Field.MODEL: [span.model],
        Field.PROVIDER: [span.provider],
    }
    if condition.field in PROPERTIES:
        names: Sequence[str | None] = [found.properties.get(condition.about.value)]
    else:
        names = named[condition.field]
    if condition.field is Field.METADATA and operator in (
        Operator.MORE,
        Operator.AT_LEAST,
        Operator.LESS,
        Operator.AT_MOST,
    ):
        try:
            return any(
                _compares(float(name), operator, (float(values[0]),)) for name in names if name
            )
        except ValueError:
            return False
    if operator is Operator.LIKE:
        patterns = [compiled(str(value)) for value in values]
        return any(pattern.fullmatch(name) for pattern in patterns for name in names if name)
    return any(name in values for name in names)


def _compares(number: float, operator: Operator, values: Sequence[str | float]) -> bool:
    if operator is Operator.IS:
        return number in values
    bound = float(values[0]) if isinstance(number, float) else int(values[0])
    return {
        Operator.MORE: number > bound,
        Operator.AT_LEAST: number >= bound,
        Operator.LESS: number < bound,
        Operator.AT_MOST: number <= bound,
    }[operator]


def _holds(span: Span, text: str, *, begins: bool) -> bool:
    """Whole words in order; what else there is, and Chinese, letter by letter."""
    sides = [span.name, span.input or "", span.output or ""]
    words = _words(text)
    if not words or any("\u4e00" <= each <= "\u9fff" for each in text):
        return any(text.casefold() in side.casefold() for side in sides)
    literally = words != [_folded(text)]
    open_end = begins and text[-1:].isalnum()
    return any(_phrase(words, _words(side), open_end=open_end) for side in sides) and (
        not literally or any(text.casefold() in side.casefold() for side in sides)
    )


def _phrase(wanted: list[str], there: list[str], *, open_end: bool) -> bool:
    for start in range(len(there) - len(wanted) + 1):
        piece = there[start : start + len(wanted)]
        last = piece[-1].startswith(wanted[-1]) if open_end else piece[-1] == wanted[-1]
        if piece[:-1] == wanted[:-1] and last:
            return True
    return False


def _words(text: str) -> list[str]:
    return "".join(each if each.isalnum() else " " for each in _folded(text)).split()


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFD", text)
    return "".join(each for each in plain if not unicodedata.combining(each)).lower()


def in_order(
    spans: Iterable[NaiveSpan], sort: Sort, keys: dict[tuple[str, str], int]
) -> list[tuple[str, str]]:
    """Their identities in that order; what is unknown comes last. `keys` decide between equals."""

    def value(found: NaiveSpan) -> int | None:
        return {
            SortKey.TIME: keys[found.identity],
            SortKey.DURATION: found.span.duration_us,
            SortKey.COST: found.nano,
            SortKey.TOKENS: found.tokens,
        }[sort.key]

    sign = 1 if sort.ascending else -1

    def place(found: NaiveSpan) -> tuple[bool, int, int]:
        number = value(found)
        return number is None, sign * (number or 0), sign * keys[found.identity]

    return [found.identity for found in sorted(spans, key=place)]


@dataclass(frozen=True)
class NaiveSums:
    """What a group adds up to."""

    spans: int
    model_calls: int
    tool_calls: int
    failed: int
    errors: int
    faults: int
    unfinished: int
    input: int
    output: int
    nano: int
    unmetered: int
    unpriced: int
    busy_us: int


def groups(
    spans: Iterable[NaiveSpan], by: Grouping, bucket_seconds: int = 3600
) -> dict[str | int, NaiveSums]:
    """The sums of each group."""
    return {value: sums(group) for value, group in members_of(spans, by, bucket_seconds).items()}


def members_of(
    spans: Iterable[NaiveSpan], by: Grouping, bucket_seconds: int = 3600
) -> dict[str | int, list[NaiveSpan]]:
    """The spans of each group."""
    members: dict[str | int, list[NaiveSpan]] = defaultdict(list)
    bucket = bucket_seconds * 1_000_000
    for found in spans:
        span = found.span
        values: dict[GroupBy, list[str | int]] = {
            GroupBy.TIME: [span.start_us // bucket * bucket],
            GroupBy.MODEL: [span.model or ""],
            GroupBy.THREAD: [found.thread],
            GroupBy.RUN: [found.run],
            GroupBy.LABEL: list(found.labels),
            GroupBy.OPERATION: [span.operation],
        }
        if not isinstance(by, GroupBy) or by not in values:
            members[found.properties.get(by.value, "")].append(found)
            continue
        for value in values[by]:
            members[value].append(found)
    return dict(members)


def sums(spans: Sequence[NaiveSpan]) -> NaiveSums:
    """The sums of these spans."""
    counted = [found for found in spans if found.counted]
    tools = [found for found in spans if found.span.kind is SpanKind.TOOL]
    replied = [
        found.span
        for found in counted
        if found.span.status in {SpanStatus.OK, SpanStatus.CANCELLED}
    ]
    return NaiveSums(
        spans=len(spans),
        model_calls=len(counted),
        tool_calls=len(tools),
        failed=sum(found.span.status is SpanStatus.ERROR for found in (*counted, *tools)),
        errors=sum(found.span.status is SpanStatus.ERROR for found in spans),
        faults=sum(found.fault for found in spans),
        unfinished=sum(found.span.status is SpanStatus.UNFINISHED for found in spans),
        input=sum(found.span.tokens.input or 0 for found in counted),
        output=sum(found.span.tokens.output or 0 for found in counted),
        nano=sum(found.nano or 0 for found in counted),
        unmetered=sum(
            span.tokens.input is None
            or (span.tokens.output is None and span.kind is not SpanKind.EMBEDDING)
            for span in replied
        ),
        unpriced=sum(span.cost is None for span in replied),
        busy_us=sum(found.span.duration_us or 0 for found in spans),
    )
