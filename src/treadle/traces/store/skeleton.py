"""The spans of a trace as columns, without contents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from treadle.json_values import JsonField

Integers = Annotated[list[int], JsonField(as_is=True)]
KnownIntegers = Annotated[list[int | None], JsonField(as_is=True)]


@dataclass(slots=True)
class Columns:
    """The spans of a trace as columns.

    Parents come before children, and siblings are sorted by start. `parents` are positions in these
    lists, or -1 for no parent. `names`, `kinds`, `operations`, `models` and `statuses` are
    positions in `Skeleton.texts`, or -1 for no value. `starts` are microseconds since the start of
    the trace. `first_tokens` are microseconds since the start of the span. `costs` are billionths
    of a US dollar.

    `flags` are sums of powers of two. 1 means that the span is its own ancestor, and 2 that it is a
    parent that never arrived. 4 means that it ended before it started, and 8 that it is unfinished.
    16 means that it is outside of the time of its parent. 32 means that it is a call of a model,
    and a call inside or around it counts instead. 128 means that a span of another trace recorded
    the same call and counts instead.

    """

    span_ids: Annotated[list[str], JsonField(as_is=True)]
    parents: Integers
    depths: Integers
    names: Integers
    kinds: Integers
    operations: Integers
    models: Integers
    statuses: Integers
    starts: KnownIntegers
    durations: KnownIntegers
    first_tokens: KnownIntegers
    input_tokens: KnownIntegers
    output_tokens: KnownIntegers
    costs: KnownIntegers
    flags: Integers


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A trace without contents.

    `root` is the position of the span that names the trace. This is its true root, or the earliest
    span until the true root arrives. `start_us` is the first start, and `last_us` is the last known
    moment. The labels, the user, the release and the metadata are those of the root.

    `revision` is the newest revision of the spans in the skeleton. Later changes are not included.
    """

    trace_id: str
    run_id: str
    thread_id: str
    start_us: int
    last_us: int
    root: int | None
    labels: tuple[str, ...]
    user: str | None
    release: str | None
    metadata: Mapping[str, str]
    revision: int
    texts: tuple[str, ...]
    columns: Columns
