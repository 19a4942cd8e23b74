"""Changes the mode of a conversation for a person."""

from treadle.app.application import App
from treadle.events.types import Mode
from treadle.session import Conversation


async def change_mode(app: App, conversation: Conversation, mode: Mode) -> None:
    """Change the mode of a conversation. The next tool call obeys it, even in a running turn.

    Open questions about calls that the new mode forbids are withdrawn. Raises StoreError.
    """
    await app.conversations.set_mode(conversation, mode)
    if mode is Mode.READ_ONLY:
        app.approvals.withdraw_writes(conversation.id)


async def change_saved_mode(app: App, reference: str, mode: Mode) -> None:
    """Change the mode of a saved conversation, as `change_mode` does.

    `reference` is an id, a prefix of an id, or "last". Raises NotFoundError, UsageError and
    StoreError.
    """
    await change_mode(app, await app.conversations.load(reference), mode)
