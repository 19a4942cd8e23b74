"""Excludes the recorded calls of Treadle's own analyst and experiments from queries.

The analyst's calls are recorded too, so without this rule a question about the recorded spans would
change its own answer (decision 52). Experiments repeat calls of the user with changes, so they must
not count as additional calls. `own:include` in a query includes both kinds of calls.
"""

from treadle.spans.span import OWN_LABELS
from treadle.traces.query import patterns
from treadle.traces.query.conditions import Condition, Field, Operator, Query, any_of

OF_OTHERS = Query((any_of(Field.LABEL, OWN_LABELS, negated=True),))
"""The condition that excludes Treadle's own calls."""

INCLUDED = Query((any_of(Field.OWN, ["include"]),))
"""The switch that includes Treadle's own calls."""

_IDS = (Field.TRACE, Field.RUN, Field.THREAD, Field.SPAN, Field.PARENT)


def without_own(query: Query) -> Query:
    """Exclude Treadle's own calls from `query`, unless the query asks for these calls.

    A query asks for them by `own:include`, by an id, or by one of their labels. If the query
    already excludes the calls, it is returned unchanged.
    """
    asks_for_own = any(not each.negated and _means_own(each) for each in query.conditions)
    if asks_for_own or set(OF_OTHERS.conditions) <= set(query.conditions):
        return query
    return query & OF_OTHERS


def _means_own(condition: Condition) -> bool:
    if condition.field in _IDS or condition.field is Field.OWN:
        return True
    if condition.field is not Field.LABEL:
        return False
    if condition.operator is Operator.LIKE:
        value_patterns = [patterns.compiled(str(value)) for value in condition.values]
        return any(each.fullmatch(label) for each in value_patterns for label in OWN_LABELS)
    return any(str(value).startswith(OWN_LABELS) for value in condition.values)
