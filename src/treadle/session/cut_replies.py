"""The reasons why a provider cuts a reply, and the notices that report them."""

from treadle.events.types import StopReason
from treadle.llm.messages import LENGTH_REASONS

CUTS = dict.fromkeys(LENGTH_REASONS, StopReason.LENGTH) | {
    "content_filter": StopReason.CONTENT_FILTER
}
"""Maps the finish reason of an incomplete reply to the stop reason of the session."""

CUT_NOTICES = {
    StopReason.LENGTH: "The reply was truncated at the provider's maximum length.",
    StopReason.CONTENT_FILTER: "The provider's content filter truncated the reply.",
}
"""The notices of incomplete replies, by stop reason."""
