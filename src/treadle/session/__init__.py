"""The request loop, its history, and the saved conversations."""

from treadle.session.conversation import Conversation, Entry
from treadle.session.conversations import ConversationStore, ConversationSummary, Kind
from treadle.session.session import AutomaticContext, RequestSession, SessionOutcome

__all__ = [
    "AutomaticContext",
    "Conversation",
    "ConversationStore",
    "ConversationSummary",
    "Entry",
    "Kind",
    "RequestSession",
    "SessionOutcome",
]
