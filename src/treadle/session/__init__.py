"""The request loop, its history, and the saved conversations.

A name is imported only when it is first used. The terminal needs some small modules of this package
before its first screen, and must not load the others for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_MODULES = {
    "conversation": ("Conversation", "Entry"),
    "conversations": ("ConversationStore", "ConversationSummary", "Kind"),
    "session": ("AutomaticContext", "RequestSession", "SessionOutcome"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"treadle.session.{module}"), name)
    raise AttributeError(name)
