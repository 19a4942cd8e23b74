"""What the analyst itself did is recorded too, and left out of what it reads (decision 52)."""

from treadle.traces.query.conditions import Field, Query, any_of
from treadle.traces.span import ANALYST_LABEL

OF_OTHERS = Query((any_of(Field.LABEL, [ANALYST_LABEL], negated=True),))
"""Everything but the analyst's own spans."""

_IDS = (Field.TRACE, Field.RUN, Field.THREAD, Field.SPAN, Field.PARENT)


def without_own(query: Query) -> Query:
    """`query` without the analyst's own spans, so that asking does not change the answer.

    Whoever names ids, or the label that those spans bear, means them.
    """
    meant = [each for each in query.conditions if not each.negated]
    if any(each.field in _IDS for each in meant):
        return query
    if any(each.field is Field.LABEL and ANALYST_LABEL in each.values for each in meant):
        return query
    return query & OF_OTHERS
