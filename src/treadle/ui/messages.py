"""Requests of the server to a page, and the answers of the page, as JSON.

The file docs/ui.md describes the messages. The names of the fields are part of the interface with
the page.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from treadle.ui.state import MAX_COLLAPSED, View

MAX_LABELS = 50
"""The maximum number of labels in a filter."""

Id = Annotated[str, Field(min_length=1, max_length=500)]
"""The id of a span or an experiment: opaque text."""
PageId = Annotated[str, Field(min_length=1, max_length=200)]
Label = Annotated[str, Field(min_length=1, max_length=200)]
Labels = Annotated[tuple[Label, ...], Field(max_length=MAX_LABELS)]
LabelAction = Literal["set", "add", "clear"]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def fields(self) -> dict[str, Any]:
        """The message as a JSON object, without the fields that are None.

        The keys are the JSON names of the fields.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class GetCollapsedSpans(_Message):
    """Asks the page for the collapsed spans."""

    type: Literal["get_collapsed_spans"] = "get_collapsed_spans"


class GetExperimentData(_Message):
    """Asks the page for the content of the experiment form, whether it is saved or not."""

    type: Literal["get_experiment_data"] = "get_experiment_data"


class EvaluateExperimentResults(_Message):
    """Asks the page for the comparison that it displays for the experiment."""

    type: Literal["evaluate_experiment_results"] = "evaluate_experiment_results"


class NavigateTo(_Message):
    """Makes the page open an address."""

    type: Literal["navigate_to"] = "navigate_to"
    url: str


class NavigateToExperiment(_Message):
    """Makes the page open the form of a new experiment with a recorded model call."""

    type: Literal["navigate_to_experiment"] = "navigate_to_experiment"
    span_id: str = Field(alias="spanId")
    url: str


class ApplyExperimentData(_Message):
    """Makes the page show the open experiment after a merge patch has changed it."""

    type: Literal["apply_experiment_data"] = "apply_experiment_data"
    data: dict[str, JsonValue]


class RunExperiment(_Message):
    """Makes the page show that the open experiment is running."""

    type: Literal["run_experiment"] = "run_experiment"


class ApplyLabelFilter(_Message):
    """Makes the page change the label filter of a list, by default of the open list."""

    type: Literal["apply_label_filter"] = "apply_label_filter"
    labels: Labels
    action: LabelAction
    view: View | None = None


UiRequest = (
    GetCollapsedSpans
    | GetExperimentData
    | EvaluateExperimentResults
    | NavigateTo
    | NavigateToExperiment
    | ApplyExperimentData
    | RunExperiment
    | ApplyLabelFilter
)
AnyRequest = Annotated[UiRequest, Field(discriminator="type")]


class CollapsedSpans(_Message):
    """The collapsed spans of the page."""

    type: Literal["collapsed_spans_response"] = "collapsed_spans_response"
    collapsed_span_ids: Annotated[tuple[Id, ...], Field(max_length=MAX_COLLAPSED)] = Field(
        alias="collapsedSpanIds"
    )


class ExperimentData(_Message):
    """The content of the experiment form, the original request, and the newest result."""

    type: Literal["experiment_data_response"] = "experiment_data_response"
    experiment_data: JsonValue = Field(alias="experimentData")
    original_experiment_data: JsonValue = Field(None, alias="originalExperimentData")
    result: JsonValue = None
    running: bool = False


class ExperimentResults(_Message):
    """The comparison that the page displays for the experiment."""

    type: Literal["evaluate_experiment_results_response"] = "evaluate_experiment_results_response"
    has_results: bool = Field(alias="hasResults")
    original: JsonValue = None
    new: JsonValue = None
    comparison: JsonValue = None


class Done(_Message):
    """Whether the page fulfilled the request, and the reason if it did not."""

    type: Literal[
        "navigate_to_response",
        "navigate_to_experiment_response",
        "apply_experiment_data_response",
        "run_experiment_response",
        "apply_label_filter_response",
    ]
    success: bool
    error: str | None = Field(None, max_length=2_000)
    result: JsonValue = None
    applied_labels: Labels | None = None


UiAnswer = CollapsedSpans | ExperimentData | ExperimentResults | Done
AnyAnswer = Annotated[UiAnswer, Field(discriminator="type")]


def answers(answer: UiAnswer, request: UiRequest) -> bool:
    """Whether the type of `answer` is the answer type of `request`."""
    return answer.type == f"{request.type.removeprefix('get_')}_response"
