"""Stores at which point of a conversation a person asked an agent a question.

The question and its answer are messages of the agent's own conversation. Therefore the prompts of
the conversation in which the person asked never contain them. The records are in the same file as
the conversations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from treadle.database import Connection, Database

MIGRATION = """
    CREATE TABLE agent_questions (
        number INTEGER PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        after INTEGER,
        agent_conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        request_id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX agent_questions_by_conversation ON agent_questions (conversation_id);
    CREATE INDEX agent_questions_by_agent ON agent_questions (agent_conversation_id);
"""
"""The migration that adds the table to the file of the conversations."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that a person asked an agent while another conversation was on the screen.

    `after` is the number of the last message of that conversation at that time, or None if it had
    no message. `agent_conversation_id` and `request_id` identify the question and its answer.
    """

    after: int | None
    agent_conversation_id: UUID
    request_id: UUID


class AgentQuestionStore:
    """The records of questions to agents, in the database of the conversations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, conversation_id: UUID, *, agent_conversation_id: UUID, request_id: UUID
    ) -> None:
        """Record a question at the end of the current branch of a conversation.

        Nothing is recorded if the conversation does not exist.
        """

        def run(db: Connection) -> None:
            db.execute(
                "INSERT INTO agent_questions"
                " (conversation_id, after, agent_conversation_id, request_id)"
                " SELECT id, head, ?, ? FROM conversations WHERE id = ?",
                (str(agent_conversation_id), str(request_id), str(conversation_id)),
            )

        await self._database.run(run)

    async def list(self, conversation_id: UUID) -> Sequence[AskedQuestion]:
        """The questions that were asked in a conversation, oldest first."""

        def run(db: Connection) -> Sequence[AskedQuestion]:
            rows = db.execute(
                "SELECT after, agent_conversation_id, request_id FROM agent_questions"
                " WHERE conversation_id = ? ORDER BY number",
                (str(conversation_id),),
            )
            return [
                AskedQuestion(after, UUID(agent), UUID(request)) for after, agent, request in rows
            ]

        return await self._database.run(run)
