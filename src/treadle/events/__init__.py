"""The event bus and the event types."""

from treadle.events.bus import Envelope, EventBus, Outcome, Subscription
from treadle.events.encoding import event_json
from treadle.events.types import Event

__all__ = ["Envelope", "Event", "EventBus", "Outcome", "Subscription", "event_json"]
