"""The properties of spans: the user, the release and the metadata, as named texts.

A property is a pair of a name and a value. The name is `user`, `release`, or `metadata.` followed
by a key. A span has the properties that it states. It inherits all others from the root of its
trace, since programs often state a user only on the root, but the model calls below the root have
the cost.

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
    """Return a text that the column `properties` of a span contains only if the span has this pair.

    A quotation mark within a name or a value is escaped, so other pairs do not contain the text.
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
    """The properties and labels that the other spans of a trace inherit from its root.

    They are in the form of the columns `properties` and `labels`.
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


def own_labels(labels: str | None, inherited: str | None) -> str | None:
    """Return the labels of a span without those that it inherits.

    The parameters and the result are in the form of the column `labels`.
    """
    return inherit_labels(labels, inherited, None)[0]


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
