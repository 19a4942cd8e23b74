"""The plan of a conversation: the steps that the model keeps with the tool `update_plan`.

The plan is the newest list that a successful call of the tool sent. It is read from the saved calls
of the branch. So a plan survives a shortened history and a restart, and a rewind or another branch
has its own plan.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from treadle.events.types import PlanStep, StepState
from treadle.fences import verbatim
from treadle.llm.messages import AssistantMessage, NoteMessage, ToolMessage
from treadle.session.conversation import Entry
from treadle.session.history import begins_turn
from treadle.tokens import estimate
from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import Arguments, ToolError
from treadle.visible import in_line

PLAN_TOOL = "update_plan"
MAX_STEPS = 30
MAX_STEP_CHARACTERS = 200

PLAN_TOKENS = 600
"""The maximum number of tokens of the plan in a prompt. Longer texts of steps are shortened."""

_SHORTER = (120, 80, 50, 30, 16)
"""The numbers of characters to which the texts of all steps are shortened, one after another."""

_ID = re.compile(r"[\w.-]{1,8}")


def _unique(steps: "list[StepArguments]") -> "list[StepArguments]":
    ids = [step.id for step in steps]
    for step in steps:
        if not _ID.fullmatch(step.id):
            raise ValueError(f"{step.id!r} is not an id: use at most 8 letters and digits")
        if not step.text or len(step.text) > MAX_STEP_CHARACTERS:
            raise ValueError(f"step {step.id} needs 1 to {MAX_STEP_CHARACTERS} characters")
        if ids.count(step.id) > 1:
            raise ValueError(f"two steps have the id {step.id!r}")
    return steps


class StepArguments(BaseModel):
    """One step, as the model sends it. Other keys are ignored, so that the schema is short."""

    model_config = ConfigDict(frozen=True, json_schema_extra=lambda it: it.pop("description"))

    id: str
    text: str
    state: StepState


class PlanArguments(Arguments):
    """The whole plan."""

    steps: Annotated[list[StepArguments], AfterValidator(_unique)] = Field(
        max_length=MAX_STEPS, description="All steps; a step keeps its id"
    )

    def plan_steps(self) -> tuple[PlanStep, ...]:
        """Return the steps. Hidden characters in their texts are escaped."""
        return tuple(PlanStep(each.id, in_line(each.text), each.state) for each in self.steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """The present plan.

    `is_earlier` states whether the plan precedes the newest message of the person.
    """

    steps: tuple[PlanStep, ...]
    is_earlier: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether no step is left to do."""
        return all(step.state in {StepState.DONE, StepState.DROPPED} for step in self.steps)


def plan_of(entries: Sequence[Entry]) -> Plan | None:
    """Return the present plan of a branch, or None if the model made no plan."""
    succeeded = set()
    is_earlier = False
    for entry in reversed(entries):
        match entry.message:
            case ToolMessage(key=key, ok=True):
                succeeded.add(key)
            case AssistantMessage(calls=calls):
                for call in reversed(calls):
                    if call.name == PLAN_TOOL and call.key in succeeded:
                        return _parsed(call.arguments, is_earlier=is_earlier)
            case message:
                is_earlier = is_earlier or begins_turn(message)
    return None


def _parsed(arguments: str, *, is_earlier: bool) -> Plan | None:
    try:
        steps = parse_arguments(PLAN_TOOL, PlanArguments, arguments).plan_steps()
    except ToolError:  # a later version accepts less
        return None
    return Plan(steps, is_earlier) if steps else None


_INTRODUCTION = (
    "This is your plan, as you last sent it with update_plan. It is your own text, not a message "
    "of the person."
)
_EARLIER = (
    " It is from before the newest message of the person: continue it only if that message asks "
    "for it."
)


def plan_note(plan: Plan | None) -> NoteMessage | None:
    """Return the note that shows the plan to the model, or None if nothing is left to do.

    All steps are listed with their ids and states.
    """
    if plan is None or (plan.is_finished and plan.is_earlier):
        return None
    introduction = _INTRODUCTION + (_EARLIER if plan.is_earlier else "")
    text = ""
    for characters in (MAX_STEP_CHARACTERS, *_SHORTER):
        lines = "\n".join(
            f"{step.id} {step.state}: {_shortened(step.text, characters)}" for step in plan.steps
        )
        text = f"{introduction}\n{verbatim(lines, 'your plan')}"
        if estimate(text) <= PLAN_TOKENS:
            break
    return NoteMessage(text)


def _shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
