"""What answers about traces look like as JSON: the types of what `trace_answers` makes.

Moments and durations are microseconds where a name ends in `_us`, else milliseconds; costs are US
dollars. What is unknown is null, never 0.
"""

from typing import Annotated, Generic, TypeVar

from typing_extensions import TypedDict

from treadle.json_schemas import DocumentedAs
from treadle.spans.span import CostSource, JsonValue, SpanKind, SpanStatus
from treadle.spans.span import Span as RecordedSpan
from treadle.traces.store.results import FoundIn

T = TypeVar("T")


class Pagination(TypedDict):
    """Which part of a list it is. `total` is null where counting would take long.

    `next_cursor` asks for what follows; null at the end.
    """

    offset: int
    limit: int
    total: int | None
    next_cursor: str | None


class Page(TypedDict, Generic[T]):
    """A part of a list."""

    data: list[T]
    pagination: Pagination


class Tokens(TypedDict):
    """`cached` and `cache_write` are parts of `input`, `reasoning` is one of `output`."""

    input: int | None
    output: int | None
    cached: int | None
    reasoning: int | None
    cache_write: int | None


class Sums(TypedDict):
    """What several spans add up to: tokens and cost of those where they are known.

    `failed` counts model and tool calls, `errors` failed spans of any kind; `unmetered` and
    `unpriced` count model calls. `busy_us` adds up durations, whether they overlap or not.
    """

    spans: int
    model_calls: int
    tool_calls: int
    failed: int
    tokens: Tokens
    cost: float | None
    unmetered: int
    unpriced: int
    errors: int
    unfinished: int
    busy_us: int


class ListedSpan(TypedDict):
    """A span without its whole content.

    `counted` is false for a model call around another one, whose tokens and cost count there.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    run_id: str
    thread_id: str
    kind: SpanKind
    operation: str
    name: str
    status: SpanStatus
    error: str | None
    error_type: str | None
    model: str | None
    provider: str | None
    start_us: int
    end_us: int | None
    duration_us: int | None
    time_to_first_token_us: int | None
    tokens: Tokens
    cost: float | None
    cost_source: CostSource | None
    counted: bool
    labels: list[str]
    input_preview: str | None
    output_preview: str | None
    revision: int


class SpanPage(TypedDict):
    """A part of a list of spans."""

    data: list[ListedSpan]
    pagination: Pagination


class Hit(ListedSpan):
    """A span that was found, with an excerpt of its `field`.

    `ranges` are places in `excerpt`, from and to (not included), counted in characters.
    """

    field: FoundIn
    excerpt: str
    ranges: list[tuple[int, int]]


class HitPage(TypedDict):
    """A part of what was found."""

    data: list[Hit]
    pagination: Pagination


class Run(TypedDict):
    """A run with its sums. `trace_id` is the trace of its root, `question` the root's input.

    `duration_us` is the root's, null while that is unfinished.
    """

    run_id: str
    thread_id: str
    trace_id: str
    name: str
    question: str | None
    answer: str | None
    status: SpanStatus
    start_us: int
    last_us: int
    duration_us: int | None
    models: list[str]
    labels: list[str]
    sums: Sums


class RunPage(TypedDict):
    """A part of a list of runs."""

    data: list[Run]
    pagination: Pagination


class RunWithSpans(Run):
    """A run with its spans, in order of time."""

    spans: SpanPage


class Thread(TypedDict):
    """A thread with its sums. `title` is the question of its first run."""

    thread_id: str
    title: str | None
    runs: int
    start_us: int
    last_us: int
    models: list[str]
    labels: list[str]
    sums: Sums


class ThreadPage(TypedDict):
    """A part of a list of threads."""

    data: list[Thread]
    pagination: Pagination


class Group(Sums):
    """A group with its sums: by its model, thread, …, or by its beginning in Unix microseconds."""

    value: str | int


class GroupPage(TypedDict):
    """A part of a list of groups."""

    data: list[Group]
    pagination: Pagination


class LabelCount(TypedDict):
    """A label, and the number of its spans."""

    name: str
    count: int


class LabelCounts(TypedDict):
    """The labels with the most spans; `total` is the number of labels."""

    data: list[LabelCount]
    total: int


class Columns(TypedDict):
    """The spans of a trace column by column, parents before children, children by their start.

    `parents` are places in these lists, -1 for none; `names`, `kinds`, `operations`, `models` and
    `statuses` are places in `texts`, -1 for none. `starts` are microseconds since the start of the
    trace, `first_tokens` since that of their span, `costs` billionths of a dollar. `flags` are sums
    of 1 (its own ancestor), 2 (a parent that never arrived), 4 (it ended before it started), 8
    (unfinished), 16 (outside of the time of its parent) and 32 (a model call around another one,
    whose tokens and cost count there).
    """

    span_ids: list[str]
    parents: list[int]
    depths: list[int]
    names: list[int]
    kinds: list[int]
    operations: list[int]
    models: list[int]
    statuses: list[int]
    starts: list[int | None]
    durations: list[int | None]
    first_tokens: list[int | None]
    input_tokens: list[int | None]
    output_tokens: list[int | None]
    costs: list[int | None]
    flags: list[int]


class Skeleton(TypedDict):
    """A trace without contents.

    `root` is the place of the span that names the trace: its true root, or the earliest span
    until that arrives.

    `revision` is the newest of its spans: what was written later is not in it.
    """

    trace_id: str
    run_id: str
    thread_id: str
    start_us: int
    last_us: int
    root: int | None
    revision: int
    texts: list[str]
    columns: Columns


class TextPart(TypedDict):
    """An unchanged part of a large value."""

    text: str


class BlobPart(TypedDict):
    """A part of a large value that is at `/blobs/BLOB`; with `base64` it is encoded there."""

    blob: str
    media_type: str | None
    bytes: int
    base64: bool


class Cut(TypedDict):
    """A large value of which only the beginning is shown: where, its length, and its parts."""

    path: list[str | int]
    characters: int
    parts: list[TextPart | BlobPart]


class SpanMark(TypedDict):
    """A fault of the record itself: a clock that went back, a text that the exporter cut."""

    mark: str
    words: str


class SpanContent(TypedDict):
    """A span with its content, which of its values were cut, and what is wrong with its record."""

    span: Annotated[dict[str, JsonValue], DocumentedAs(RecordedSpan)]
    cut: list[Cut]
    marks: list[SpanMark]


class Percentiles(TypedDict):
    """Of `n` times in milliseconds, each that of a real call; null where there are none."""

    n: int
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class Figures(TypedDict):
    """A set of spans in numbers, by the names of the tool `fetch_spans_summary`."""

    total_spans: int
    by_operation: dict[str, int]
    by_status: dict[str, int]
    start_us: int | None
    last_us: int | None
    total_duration_ms: float | None
    busy_ms: float
    total_cost: float | None
    unpriced: int
    total_input_tokens: int | None
    total_output_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    unmetered: int
    models_used: list[str]
    labels_found: list[str]


class ModelUsage(Sums):
    """The calls of one model; of spans without a model `model` is empty."""

    model: str
    latency: Percentiles


class ToolUsage(TypedDict):
    """The calls of one tool."""

    name: str
    calls: int
    failed: int
    latency: Percentiles


class Summary(TypedDict):
    """A set of spans in all, with the worst of them."""

    snapshot_id: int
    summary: Figures
    latency: Percentiles
    ttft: Percentiles
    model_breakdown: list[ModelUsage]
    tool_usage: list[ToolUsage]
    error_spans: list[ListedSpan]
    slowest_spans: list[ListedSpan]
    expensive_spans: list[ListedSpan]
