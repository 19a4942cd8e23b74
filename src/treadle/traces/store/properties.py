"""The properties of spans: the user, the release and the metadata, as named texts.

A property has a name, `user`, `release`, or `metadata.` and a key, and a value. A span has the
properties that it states, and inherits the other properties of the root of its trace. Programs
often state a user only on the root, but the model calls below the root have the cost.

The column `properties` has all properties of a span as a JSON object. The column `inherited` has
the names of the inherited ones as a JSON list. Both are NULL if they are empty.

The labels of spans are inherited in the same way. The column `labels` has all labels, and
`inherited_labels` has the inherited ones.
"""

import json
from functools import lru_cache
from typing import NamedTuple

from treadle.spans.span import Scalar, Span, inheritable_labels
from treadle.traces.query.conditions import METADATA_PREFIX, Field
from treadle.traces.store.statements import Text, pack_text

_CACHED = 4_096

Pairs = tuple[tuple[Text, Text], ...]
"""Names and values."""


def own_properties(span: Span) -> str | None:
    """Return the properties that the span states, as a value of the column `properties`."""
    found = {}
    if span.user:
        found[Field.USER.value] = span.user
    if span.release:
        found[Field.RELEASE.value] = span.release
    for key, value in span.metadata.items():
        found[f"{METADATA_PREFIX}{key}"] = metadata_text(value)
    return json.dumps(found) if found else None


def metadata_text(value: Scalar) -> str:
    """Return a value of the metadata as text. Queries compare these texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


def encoded_pair(name: str, value: str) -> str:
    """Return the text that a value of the column `properties` contains if it has this pair.

    No other value contains the text, since a quotation mark within a name or a value is escaped.
    """
    return json.dumps({name: value})[1:-1]


@lru_cache(_CACHED)
def property_pairs(properties: str | None) -> Pairs:
    """Return the names and values in a value of the column `properties`."""
    if properties is None:
        return ()
    values = json.loads(properties)
    return tuple((pack_text(name), pack_text(value)) for name, value in values.items())


class Inheritance(NamedTuple):
    """What the root of a trace gives to its other spans, as values of columns.

    These are its properties, and the labels that can be inherited.
    """

    properties: str | None
    labels: str | None

    @classmethod
    def of_root(cls, properties: str | None, labels: str | None) -> "Inheritance":
        """Return the inheritance from a root with these values of the columns."""
        return cls(properties, _inheritable(labels))


NO_INHERITANCE = Inheritance(None, None)


@lru_cache(_CACHED)
def _inheritable(labels: str | None) -> str | None:
    found = inheritable_labels(json.loads(labels)) if labels else ()
    return json.dumps(found) if found else None


@lru_cache(_CACHED)
def inherit_labels(
    labels: str | None, inherited: str | None, of_root: str | None
) -> tuple[str | None, str | None]:
    """Return the columns `labels` and `inherited_labels` of a span below a root.

    The parameters are as in `inherit`.
    """
    former = json.loads(inherited) if inherited else []
    own = [label for label in json.loads(labels) if label not in former] if labels else []
    added = [label for label in json.loads(of_root) if label not in own] if of_root else []
    every = sorted({*own, *added})
    return json.dumps(every) if every else None, json.dumps(added) if added else None


@lru_cache(_CACHED)
def inherit(
    properties: str | None, inherited: str | None, of_root: str | None
) -> tuple[str | None, str | None]:
    """Return the columns `properties` and `inherited` of a span below a root.

    `properties` and `inherited` are the present values of the span. `of_root` are the properties
    that the root states.
    """
    own = json.loads(properties) if properties else {}
    for name in json.loads(inherited) if inherited else ():
        del own[name]
    given = json.loads(of_root) if of_root else {}
    names = [name for name in given if name not in own]
    every = {**own, **{name: given[name] for name in names}}
    return json.dumps(every) if every else None, json.dumps(names) if names else None
