"""Tools that a front end runs: their definitions, and the bridge over which their calls go out.

Knows no transport: a WebSocket, a page in the same process or a test carries the messages.
"""

from treadle.tools.external.bridge import AnswerStatus, Bridge, CallOffer, Connection, Withdrawal
from treadle.tools.external.definitions import ToolDefinition
from treadle.tools.external.messages import message_json, receive

__all__ = [
    "AnswerStatus",
    "Bridge",
    "CallOffer",
    "Connection",
    "ToolDefinition",
    "Withdrawal",
    "message_json",
    "receive",
]
