"""External tools: tools that a front end runs, and the bridge that carries their calls.

The bridge does not depend on a transport. A WebSocket, a page in the same process or a test can
carry the messages.
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
