"""Labels that a person adds to recorded spans, or removes from them.

An edited span stores its edits in the attribute `LABEL_EDITS`. Therefore exports include the edits,
and a version of the span that arrives later does not undo them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from treadle.spans.span import OWN_LABELS, JsonValue, Span, given_labels

LABEL_EDITS = "treadle.labels.edits"
"""The attribute with the sum of all edits of the labels of a span."""


@dataclass(frozen=True, slots=True)
class LabelEdit:
    """The labels that edits added and removed. `at_us` is the time of the last edit."""

    at_us: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, span: Span) -> Self | None:
        """Return the edits of a span, or None if its labels were not edited."""
        value = span.attributes.get(LABEL_EDITS)
        if not isinstance(value, dict) or not isinstance(at_us := value.get("at_us"), int):
            return None
        return cls(at_us, _labels(value.get("added")), _labels(value.get("removed")))

    def apply(self, span: Span) -> Span:
        """Return the span with these edits."""
        labels = {*span.labels, *self.added} - set(self.removed)
        value: JsonValue = {
            "at_us": self.at_us,
            "added": list(self.added),
            "removed": list(self.removed),
        }
        attributes = {**span.attributes, LABEL_EDITS: value}
        return replace(span, labels=tuple(sorted(labels)), attributes=attributes)


def editable_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels that a person may add or remove.

    A label of Treadle's own calls would hide the span in lists and sums.
    """
    return tuple(label for label in given_labels(labels) if not label.startswith(OWN_LABELS))


def edit_labels(span: Span, add: Iterable[str], remove: Iterable[str], at_us: int) -> Span:
    """Return the span with some labels added and others removed.

    The result is `span` itself if its labels stay the same.
    """
    added, removed = set(editable_labels(add)), set(editable_labels(remove))
    if added <= set(span.labels) and not removed & set(span.labels):
        return span
    before = LabelEdit.of(span) or LabelEdit(at_us)
    edit = LabelEdit(
        max(at_us, before.at_us + 1),
        tuple(sorted({*before.added, *added} - removed)),
        tuple(sorted({*before.removed, *removed} - added)),
    )
    return edit.apply(span)


def with_latest_edit(merged: Span, one: Span, other: Span) -> Span:
    """Return `merged` with the label edits of that version which was edited last."""
    edits = [edit for each in (one, other) if (edit := LabelEdit.of(each)) is not None]
    if not edits:
        return merged
    latest = max(edits, key=lambda edit: edit.at_us)
    return merged if LabelEdit.of(merged) == latest else latest.apply(merged)


def _labels(value: JsonValue) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
