"""update_plan: keeps the steps of the work, which the person sees change."""

from treadle.events.types import StepState, ToolView
from treadle.session.plan import PLAN_TOOL, PlanArguments
from treadle.tools.contract import Result, Tool, ToolContext, ToolEffect


class PlanResult(Result):
    """The numbers of steps that are left and that are done."""

    type: str = "plan"
    left: int
    done: int


class UpdatePlan(Tool[PlanArguments, PlanResult]):
    """Accepts the whole plan. The conversation keeps the call, and with it the plan."""

    name = PLAN_TOOL
    description = (
        "Keep the plan of longer work, which the person sees: send all steps each time, with their "
        "states."
    )
    effect = ToolEffect.UI
    arguments = PlanArguments
    result = PlanResult

    async def run(self, arguments: PlanArguments, context: ToolContext) -> PlanResult:  # noqa: ARG002
        states = [step.state for step in arguments.steps]
        left = sum(state in {StepState.OPEN, StepState.DOING} for state in states)
        return PlanResult(left=left, done=states.count(StepState.DONE))

    def view(self, arguments: PlanArguments, result: PlanResult) -> ToolView:
        total = len(arguments.steps)
        return ToolView(f"plan: {result.done} of {total} steps done")
