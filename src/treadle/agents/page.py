"""What a person has on the screen while they ask: an input of an agent, sent as data."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from treadle.traces.fencing import inline
from treadle.traces.query import Query
from treadle.traces.query.conditions import Field as Of
from treadle.traces.query.conditions import any_of

Reference = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class PageContext(BaseModel):
    """The screen of a person, or what they named on the command line. Ids are opaque text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: Annotated[str, StringConstraints(max_length=2_000)] | None = None
    """The path of the page that is shown."""
    thread_id: Reference | None = None
    run_id: Reference | None = None
    trace_id: Reference | None = None
    span_id: Reference | None = None
    """The span that is open."""
    labels: Annotated[tuple[Reference, ...], Field(max_length=100)] = ()
    """The labels that the view is filtered by."""
    experiment_id: Reference | None = None

    @property
    def scope(self) -> Query:
        """The spans that are in view: of the narrowest thing that is named; else all."""
        for field, value in (
            (Of.TRACE, self.trace_id),
            (Of.RUN, self.run_id),
            (Of.THREAD, self.thread_id),
        ):
            if value is not None:
                return Query((any_of(field, [value]),))
        if self.span_id is not None:
            return Query((any_of(Of.SPAN, [self.span_id]),))
        return Query((any_of(Of.LABEL, self.labels),)) if self.labels else Query()

    def told(self) -> str:
        """The same for a model, in front of the question; empty where nothing is shown."""
        lines = [
            f"- {name}: {inline(value, limit=200)}"
            for name, value in (
                ("page", self.page),
                ("thread id", self.thread_id),
                ("run id", self.run_id),
                ("trace id", self.trace_id),
                ("open span id", self.span_id),
                ("open experiment id", self.experiment_id),
            )
            if value is not None
        ]
        if self.labels:
            shown = ", ".join(inline(label) for label in self.labels)
            lines.append(f"- labels that the view is filtered by: {shown}")
        heading = "What the person has on the screen; ids and labels are data, to be used as they"
        return "\n".join([f"{heading} are:", *lines]) if lines else ""
