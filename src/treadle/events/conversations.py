"""Events about saved conversations. The store is the truth; turns have events of their own."""

from dataclasses import dataclass
from typing import ClassVar

from treadle.events.types import Delivery, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationChanged(Event):
    """A person gave a conversation another title or place to go on from, or took it out here."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    conversation_id: str
    gone: bool
