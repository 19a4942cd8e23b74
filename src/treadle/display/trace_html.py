"""Writes a trace, a run or a thread as one HTML page that needs no other file and no network.

The page has no script, so it works in any browser and in a mail program. All recorded text is
escaped. In addition, a content security policy blocks remote resources.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from treadle.diagnosis.span_messages import Message, read
from treadle.diagnosis.span_text import content_texts, indented, repeated_messages
from treadle.display.lines import one_line
from treadle.display.trace_tree import Row, Symbol, describe, view_trace
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.traces.amounts import cost, duration, tokens
from treadle.visible import in_line, printable

_DEEPEST = 24
"""The depth of the deepest indentation. Deeper rows are indented to this depth only."""

_TITLE_CHARACTERS = 120

_STYLE = """
:root { color-scheme: light dark; --ink: #1b2330; --soft: #4c5668; --ground: #fff; --box: #f6f7f9;
  --edge: #d9dde4; --bad: #b3261e; --good: #17703f; --accent: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf1; --soft: #b4bdcb; --ground: #12161d;
  --box: #181d26; --edge: #2f3846; --bad: #ff8a80; --good: #6fcf97; --accent: #8ab4f8; } }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--ground);
  color: var(--ink); font: 0.875rem/1.45 system-ui, sans-serif; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 0; overflow-wrap: anywhere; }
h3 { font-size: 0.875rem; margin: 1rem 0 0; }
p { margin: 0.25rem 0; overflow-wrap: anywhere; }
a { color: var(--accent); }
pre { background: var(--box); border: 1px solid var(--edge); border-radius: 0.375rem;
  font: 0.8125rem/1.45 ui-monospace, monospace; margin: 0.25rem 0; max-height: 32rem;
  overflow: auto; padding: 0.5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; }
.row { border-bottom: 1px solid var(--edge); padding: 0.25rem 0 0.25rem calc(var(--d) * 1rem); }
.row > summary, .event { display: flex; gap: 0.5rem; align-items: baseline; flex-wrap: wrap; }
.row > summary::before { content: "▸"; }
.row[open] > summary::before { content: "▾"; }
.row > summary::before, .event::before { flex: none; width: 0.75rem; }
.event::before { content: ""; }
.detail { flex: 1 1 12rem; min-width: 0; color: var(--soft); overflow-wrap: anywhere; }
.figures { color: var(--soft); font-variant-numeric: tabular-nums; }
.body { padding: 0.25rem 0 0.5rem 1.5rem; }
.soft { color: var(--soft); }
.bad { color: var(--bad); }
.good { color: var(--good); }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_MEANINGS = {
    Symbol.OK: "ok",
    Symbol.ERROR: "failed",
    Symbol.CANCELLED: "cancelled",
    Symbol.DENIED: "denied",
    Symbol.TIMEOUT: "timed out",
    Symbol.UNFINISHED: "unfinished",
    Symbol.EVENT: "event",
    Symbol.MISSING: "not recorded",
}


def html_page(name: str, traces: Iterable[Trace]) -> Iterator[bytes]:
    """Yield the parts of a page that shows the traces. The parts are encoded in UTF-8.

    `name` describes the content, such as `thread 17`. Only one trace is in memory at a time.
    """
    for part in _page(name, traces):
        yield part.encode("utf-8", "backslashreplace")


def _page(name: str, traces: Iterable[Trace]) -> Iterator[str]:
    shown = escape(in_line(name))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{shown}</h1>\n"
        '<p class="soft">Recorded by Treadle. Select a row to see its input and output. '
        "Images and other media are not included.</p>\n"
    )
    for number, trace in enumerate(traces):
        yield from _trace(trace, f"t{number}")
    yield "</body>\n</html>\n"


def _trace(trace: Trace, anchor: str) -> Iterator[str]:
    view = view_trace(trace)
    root = trace.root
    question = one_line((root.input or root.name) if root else "", _TITLE_CHARACTERS)
    started = datetime.fromtimestamp(view.start_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    identity = " · ".join(filter(None, (in_line(f"trace {view.trace_id}"), view.origin)))
    kind = "good" if view.status is SpanStatus.OK else "bad"
    yield (
        f"<section>\n<h2>{escape(question)}</h2>\n"
        f'<p><span class="{kind}">{view.status.value}</span> · {duration(view.duration_us)} · '
        f"{started} · {escape(describe(view.totals))}</p>\n"
        f'<p class="soft">{escape(identity)}</p>\n'
    )
    spans = {span.span_id: span for span in trace.spans}
    earlier = _Earlier()
    for number, row in enumerate(view.rows):
        span = spans.get(row.span_id) if row.span_id is not None else None
        yield from _row(row, span, f"{anchor}-{number}", earlier)
    if view.error:
        yield f'<h3 class="bad">Error</h3>\n{_pre(view.error)}'
    if view.answer:
        yield f"<h3>Answer</h3>\n{_pre(view.answer)}"
    yield "</section>\n"


def _row(row: Row, span: Span | None, anchor: str, earlier: "_Earlier") -> Iterator[str]:
    is_failed = row.symbol in {Symbol.ERROR, Symbol.TIMEOUT}
    symbol = (
        f'<span class="{"bad" if is_failed else "soft"}" role="img" '
        f'aria-label="{_MEANINGS[row.symbol]}">{row.symbol.value}</span>'
    )
    line = (
        f'{symbol} <strong>{escape(row.name)}</strong> <span class="detail">{escape(row.detail)}'
        f'</span> <span class="figures">{escape(_figures(row))}</span>'
    )
    style = f'style="--d:{min(row.depth, _DEEPEST)}"'
    notes = "".join(f'<p class="soft">{escape(note)}</p>\n' for note in row.notes)
    if span is None:
        yield f'<div class="row" {style}><div class="event">{line}</div>{notes}</div>\n'
        return
    yield (
        f'<details class="row" id="{anchor}" {style}><summary>{line}</summary>\n'
        f'<div class="body">\n{notes}<p class="soft">span {escape(in_line(span.span_id))}</p>\n'
    )
    yield from _contents(span, anchor, earlier)
    yield "</div>\n</details>\n"


def _figures(row: Row) -> str:
    parts = [] if row.offset_us is None else [f"{row.offset_us / 1e6:+.3f} s"]
    if row.span_id is not None:
        parts.append(duration(row.duration_us))
    if row.time_to_first_token_us is not None:
        parts.append(f"first token {duration(row.time_to_first_token_us)}")
    if row.tokens is not None:
        parts.append(tokens(row.tokens))
    if row.cost is not None:
        parts.append(cost(row.cost))
    return " · ".join(filter(None, parts))


class _Earlier:
    """The messages of the previous model call. The next model call often repeats them."""

    def __init__(self) -> None:
        self._messages: Sequence[Message] = ()
        self._anchor = ""

    def repeated(self, messages: Sequence[Message], anchor: str) -> tuple[int, str]:
        """Return how many first messages are the same as in the previous call, and its anchor.

        `messages` then become the messages of the previous call.
        """
        found = repeated_messages(self._messages, messages), self._anchor
        self._messages, self._anchor = messages, anchor
        return found


def _contents(span: Span, anchor: str, earlier: _Earlier) -> Iterator[str]:
    """Yield the error, the input and the output of a span. Input and output are folded."""
    if span.error is not None:
        yield f'<h3 class="bad">Error</h3>\n{_pre(span.error)}'
    reading = read(span)
    for title, text, messages in (
        ("Input", span.input, reading.history),
        ("Output", span.output, reading.reply),
    ):
        if text is None:
            continue
        size = f"{len(text):,} characters"
        yield f"<details><summary>{title} <span class='soft'>{size}</span></summary>\n"
        if not messages:
            yield _pre(indented(text))
        else:
            known = (0, "")
            if title == "Input" and span.kind is SpanKind.MODEL:
                known = earlier.repeated(messages, anchor)
            yield from _messages(messages, *known)
        yield "</details>\n"


def _messages(messages: Sequence[Message], repeated: int, anchor: str) -> Iterator[str]:
    if repeated:
        which = "first message is" if repeated == 1 else f"first {repeated} messages are"
        yield f'<p>The {which} the same as in <a href="#{anchor}">the model call before</a>.</p>\n'
    for message in messages[repeated:]:
        yield f"<h3>{message.role.value}</h3>\n"
        yield from map(_pre, content_texts(message))
        for call in message.calls:
            yield f"<p>calls {escape(in_line(call.name))}</p>\n"
            if call.arguments is not None:
                yield _pre(indented(call.arguments))


def _pre(text: str) -> str:
    return f"<pre>\n{escape(printable(text))}</pre>\n"
