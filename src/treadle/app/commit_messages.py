"""Lets a model propose the message of a commit, in a recorded session without tools."""

from dataclasses import dataclass
from uuid import UUID

from treadle.app.application import App
from treadle.commits.message import SYSTEM, CommitMessage, problems, question, read_message
from treadle.commits.session_index import EditedFile
from treadle.commits.staged import StagedChanges
from treadle.commits.style import CommitStyle
from treadle.edits.model import ProposalState
from treadle.errors import StoreError, UsageError
from treadle.ids import new_id
from treadle.llm.chat_model import ChatModel
from treadle.session import Conversation, RequestSession
from treadle.session.limits import UsageTotal
from treadle.session.role import Role
from treadle.tools.contract import Registry

ROLE = "commit"
_DIFF_SHARE = 2
"""The diffs get the context window, divided by this number."""

_MAX_DIFF_TOKENS = 24_000
_MAX_PROPOSALS = 10_000


@dataclass(frozen=True, slots=True)
class ProposedMessage:
    """A message, the rules of the repository that it breaks, and the cost in US dollars.

    `cost` is None if it is unknown. `trace_id` identifies the recorded run. It is None if no model
    was asked.
    """

    message: CommitMessage
    problems: tuple[str, ...] = ()
    cost: float | None = 0.0
    trace_id: str | None = None


async def propose_message(
    app: App, model: ChatModel, changes: StagedChanges, style: CommitStyle, request_id: UUID
) -> ProposedMessage:
    """Ask `model` for the message of a commit with `changes`.

    A message that breaks a rule of the style is requested once more. Raises ProviderError and
    ContextWindowError.
    """
    now = app.clock.now_us()
    name = f"{model.provider}/{model.model}"
    conversation = Conversation(new_id(), str(app.root), name, now, now)
    tokens = min(_MAX_DIFF_TOKENS, model.context_window // _DIFF_SHARE)
    total = UsageTotal()

    async def ask(text: str, used_id: UUID) -> CommitMessage:
        outcome = await _session(app, model, conversation, used_id).run(text)
        total.add(outcome.usage, outcome.cost)
        return read_message(outcome.text)

    message = await ask(question(changes, style, tokens), request_id)
    if found := problems(message, style):
        request = f"{' '.join(found)} Reply with the whole corrected message."
        message = await ask(request, new_id())
    return ProposedMessage(message, problems(message, style), total.cost, request_id.hex)


def _session(
    app: App, model: ChatModel, conversation: Conversation, request_id: UUID
) -> RequestSession:
    return RequestSession(
        executor=app.executor,
        model=model,
        registry=Registry(()),
        conversation=conversation,
        role=Role(ROLE, SYSTEM, labels=(ROLE,), system_without_tools=SYSTEM),
        settings=app.settings.tools,
        limits=app.settings.limits,
        history=app.settings.history,
        clock=app.clock,
        ids=lambda: request_id,
    )


def edits_of_conversation(app: App, session_id: UUID) -> dict[str, EditedFile]:
    """Return the files that the applied proposals of a conversation changed.

    Raises StoreError if proposals cannot be read, and UsageError if no edit is applied.
    """
    if app.edits is None:
        raise StoreError(app.edits_error or "Proposals cannot be read.")
    applied = app.edits.list(
        states={ProposalState.APPLIED, ProposalState.PARTLY_UNDONE},
        session_id=session_id,
        limit=_MAX_PROPOSALS,
    )
    simulation = app.edits.simulate([(each.id, None) for each in applied], ProposalState.UNDONE)
    changed = simulation.differences()
    files = {
        path: EditedFile(tuple(reversed(states)))
        for path, states in simulation.states().items()
        if path in changed
    }
    if not files:
        raise UsageError(
            f"No edit of the conversation {session_id.hex[:8]} is applied to the files.",
            hint="List the proposals with `treadle edits list`.",
        )
    return files
