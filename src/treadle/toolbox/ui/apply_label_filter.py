"""apply_label_filter: filters a list on the page by labels."""

from typing import Self

from pydantic import Field, model_validator

from treadle.events.types import ErrorKind, ToolView
from treadle.toolbox.ui.page_replies import outcome_text, refusal
from treadle.tools.contract import Arguments, Result, Tool, ToolContext, ToolEffect, ToolError
from treadle.ui.addresses import view_at
from treadle.ui.messages import MAX_LABELS, ApplyLabelFilter, LabelAction, Labels
from treadle.ui.service import Ui
from treadle.ui.state import Change, View

_MAX_LISTED = 5
"""The maximum number of labels that the message names."""


class FilterArguments(Arguments):
    """The labels, and how to change the filter with them."""

    labels: Labels = Field(default=(), description="Labels, as returned by list_labels.")
    action: LabelAction = Field(
        description="`set`: only these labels; `add`: these too; `clear`: remove these "
        "labels, or all without labels."
    )
    view: View | None = Field(
        default=None, description="The list to filter. Default: the one shown on the page."
    )

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        if self.action != "clear" and not self.labels:
            raise ValueError(
                f"`{self.action}` needs at least one label; `clear` removes the filter"
            )
        return self


class FilterResult(Result):
    """The filter after the call.

    The list shows the rows that have one of `applied_labels`. If `success` is false, the page
    refused the request and the filter is unchanged. `page` is the id of the page that received the
    request, or null if no page is open.
    """

    type: str = "label_filter"
    success: bool
    message: str
    applied_labels: list[str]
    action: LabelAction
    view: View
    page: str | None = None


class ApplyLabelFilterTool(Tool[FilterArguments, FilterResult]):
    """Changes the label filter of a list on the page."""

    name = "apply_label_filter"
    description = (
        "Set, extend or clear the label filter of a list in the person's browser. It changes what "
        "the person sees, not the records. list_labels returns the labels."
    )
    effect = ToolEffect.UI
    arguments = FilterArguments
    result = FilterResult

    def __init__(self, ui: Ui) -> None:
        self._ui = ui

    async def run(self, arguments: FilterArguments, context: ToolContext) -> FilterResult:
        state = await self._ui.state()
        view = arguments.view or view_at(state.location)
        before = state.label_filters.get(view, ())
        labels = _changed_filter(before, arguments)
        if len(labels) > MAX_LABELS:
            raise ToolError(
                ErrorKind.LIMIT,
                (
                    f"A filter has at most {MAX_LABELS} labels, and this filter would have "
                    f"{len(labels)}."
                ),
                field="labels",
                hint="Use `set` with the labels that matter most.",
            )
        await self._ui.change(Change(label_filters={view: labels}))
        request = ApplyLabelFilter(labels=arguments.labels, action=arguments.action, view=view)
        reply = await self._ui.ask(request, request_id=context.request_id)
        reason = refusal(reply)
        if reason is not None:  # the page refused, so the saved filter is restored
            await self._ui.change(Change(label_filters={view: before}))
            return FilterResult(
                success=False,
                message=f"The page did not change the filter of {view}: {reason}",
                applied_labels=list(before),
                action=arguments.action,
                view=view,
                page=reply.page,
            )
        outcome = (
            f"{view} are filtered by {_first_labels(labels)}" if labels else f"all {view} are shown"
        )
        return FilterResult(
            success=True,
            message=outcome_text(
                reply, f"On the page {outcome}", f"{outcome} when a page is opened"
            ),
            applied_labels=list(labels),
            action=arguments.action,
            view=view,
            page=reply.page,
        )

    def view(self, arguments: FilterArguments, result: FilterResult) -> ToolView:  # noqa: ARG002
        return ToolView(result.message)


def _changed_filter(before: tuple[str, ...], arguments: FilterArguments) -> tuple[str, ...]:
    """Return the labels of the filter after the action."""
    if arguments.action == "set":
        return tuple(dict.fromkeys(arguments.labels))
    if arguments.action == "add":
        return tuple(dict.fromkeys((*before, *arguments.labels)))
    return tuple(each for each in before if arguments.labels and each not in arguments.labels)


def _first_labels(labels: tuple[str, ...]) -> str:
    shown = ", ".join(labels[:_MAX_LISTED])
    return shown if len(labels) <= _MAX_LISTED else f"{shown} and {len(labels) - _MAX_LISTED} more"
