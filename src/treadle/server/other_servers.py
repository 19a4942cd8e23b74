"""The other servers of the project, as the routes see them.

A request may concern a turn, a question or a held call of another server. The routes pass it on to
that server.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol
from uuid import UUID

from treadle.app.permissions import OtherPermissions
from treadle.events.types import ApprovalScope
from treadle.gateway.breakpoints import Breakpoints
from treadle.server.held_calls import HeldDecision
from treadle.server.turn_json import Ask, Begin
from treadle.tools.external import Connection, ToolDefinition


class OtherServers(OtherPermissions, Protocol):
    """The interface to the other servers.

    A method returns None if no other server has the turn or the question. It raises a TreadleError
    of the kind `unavailable` if a server that may have it does not answer.
    """

    @property
    def names(self) -> frozenset[str]:
        """The names of the other running servers. A server gets a new name at each start."""
        ...

    async def start_turn(self, conversation_id: UUID, message: Begin) -> dict[str, Any] | None:
        """Start a turn at the server that runs a turn of the same conversation.

        Returns the JSON of the turn.
        """
        ...

    async def start_question(
        self, conversation_id: UUID, agent: str, question: Ask
    ) -> dict[str, Any] | None:
        """Start the turn of a question at the server that runs a turn of the same conversation.

        Returns the JSON of the turn.
        """
        ...

    async def show_turn(self, request_id: UUID, wait: float) -> dict[str, Any] | None:
        """Wait at most `wait` seconds for the end of a turn, and return its JSON."""
        ...

    async def running_turns(self) -> Sequence[dict[str, Any]]:
        """Return the JSON of all turns that run at other servers."""
        ...

    async def replay_turn(self, request_id: UUID) -> Sequence[dict[str, Any]] | None:
        """Return the past events of a turn as JSON, with the numbers that its server gave them."""
        ...

    async def steer_turn(self, request_id: UUID, text: str) -> bool | None:
        """Add a message to the model's next request. Returns whether the turn takes it."""
        ...

    async def cancel_turn(self, request_id: UUID) -> bool | None:
        """Cancel a turn. Returns whether it was still running."""
        ...

    async def approval_questions(self) -> Sequence[dict[str, Any]]:
        """Return the JSON of all approval questions that wait at other servers."""
        ...

    async def answer_approval(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None
    ) -> bool:
        """Answer an approval question. Returns False if it does not wait at any server."""
        ...

    async def approval_choices(self, approval_id: UUID) -> Sequence[dict[str, Any]] | None:
        """Return the JSON of the possible answers to an approval question."""
        ...

    def use_breakpoints(self, breakpoints: Breakpoints) -> AbstractContextManager[None]:
        """Answer requests of other servers with these breakpoints, until the context ends."""
        ...

    async def read_breakpoints(self) -> None:
        """Let all other servers read the stored breakpoints again, and wait until they have."""
        ...

    async def show_held(self, held_id: str) -> dict[str, Any] | None:
        """Return the JSON of a call that waits at a breakpoint of another server."""
        ...

    async def decide_held(self, held_id: str, decision: HeldDecision) -> dict[str, Any] | None:
        """Decide about a call that waits at another server, and return its JSON without body."""
        ...

    def approving(self) -> AbstractAsyncContextManager[None]:
        """Allow the other servers to ask for approval, until the context ends.

        A person at this server answers approval questions meanwhile.
        """
        ...

    def front_end(
        self,
        name: str,
        connection: Connection,
        *,
        runs: Sequence[str],
        tools: Sequence[ToolDefinition],
    ) -> AbstractAsyncContextManager[None]:
        """Let the other servers use a front end of this server until the context ends."""
        ...
