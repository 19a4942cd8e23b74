"""Lists and revokes the permissions that a person gave, each with a sentence in plain words.

The module also states what each possible answer to a question would allow.
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from treadle.errors import NotFoundError
from treadle.events.types import ApprovalScope
from treadle.tools.approvals.gate import RequiredGrants
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.tools.contract import ToolEffect

if TYPE_CHECKING:
    from treadle.app.application import App

_SESSION, _ALWAYS = "session", "always"
_ID = re.compile(f"({_SESSION}|{_ALWAYS})-([0-9]{{1,18}})")
_VERBS = {"create_file": "create", "delete_file": "delete", "rename_file": "rename"}
"""The verbs of the tools that do not edit the content of a file."""


@dataclass(frozen=True, slots=True)
class Permission:
    """A call that is allowed without a question.

    `id` identifies the permission when a person revokes it. `scope` is session or always. A
    permission for a session is valid in the conversation `conversation_id` and ends with the
    process. A permanent permission has the time `granted_us` in Unix microseconds, and no
    conversation. `sentence` states what is allowed.
    """

    id: str
    scope: ApprovalScope
    conversation_id: UUID | None
    tool: str
    sentence: str
    granted_us: int | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible answer to a question.

    `sentence` states what the answer allows, or why it is not `available`.
    """

    scope: ApprovalScope
    available: bool
    sentence: str


class OtherPermissions(Protocol):
    """The permissions of conversations that the other servers of the project have."""

    async def session_permissions(self, conversation_id: UUID | None) -> Sequence[Permission]:
        """Return these permissions, with sentences for a reader of the conversation."""
        ...

    async def revoke_permissions(
        self, *, number: int | None = None, grants: Collection[Grant] = ()
    ) -> int:
        """Revoke the permission `number`, those with one of the `grants`, or by default all.

        Returns the number of revoked permissions. Raises TreadleError if a server does not answer.
        """
        ...


class Permissions:
    """The permissions of one repository. Use this object only from the event loop of the bus."""

    def __init__(self, app: "App", others: OtherPermissions | None = None) -> None:
        """Create the service. With `others`, it includes the permissions of other servers."""
        self._app = app
        self._others = others
        self._root = app.root.resolve()
        self._store = GrantStore(app.stores.approvals)

    async def list(self, conversation_id: UUID | None = None) -> tuple[Permission, ...]:
        """Return the permanent permissions, and then those of conversations.

        In each group, the oldest permission comes first. In the sentences, "this conversation" is
        the conversation with the id `conversation_id`. Raises StoreError.
        """
        stored = await asyncio.to_thread(self._store.list_grants, self._root)
        permanent = tuple(
            Permission(
                f"{_ALWAYS}-{each.number}",
                ApprovalScope.ALWAYS,
                None,
                each.grant.tool,
                _sentence(f"{self._action(each.grant)} in this repository"),
                each.granted_us,
            )
            for each in stored
        )
        own = await self.of_conversations(conversation_id)
        if self._others is None:
            return (*permanent, *own)
        return (*permanent, *own, *await self._others.session_permissions(conversation_id))

    async def of_conversations(self, conversation_id: UUID | None) -> tuple[Permission, ...]:
        """Return the permissions of conversations that this process has. Raises StoreError."""
        stored = await asyncio.to_thread(self._store.list_grants, self._root)
        known = {each.grant for each in stored}
        return tuple(
            Permission(
                f"{_SESSION}-{each.number}",
                ApprovalScope.SESSION,
                each.owner,
                each.grant.tool,
                _sentence(f"{self._action(each.grant)} {_where(each.owner, conversation_id)}"),
                None,
            )
            for each in self._app.approvals.session_grants()
            if each.grant not in known
        )

    async def revoke(self, permission_id: str) -> None:
        """Revoke the permission with that id.

        Raises NotFoundError, StoreError, and TreadleError if another server does not answer.
        """
        known = _ID.fullmatch(permission_id)
        revoked = 0
        if known and known[1] == _SESSION:
            number = int(known[2])
            revoked = self._app.approvals.revoke_session_grants([number])
            if not revoked and self._others is not None:
                revoked = await self._others.revoke_permissions(number=number)
        elif known:
            revoked = await self._revoke_permanent(int(known[2]))
        if not revoked:
            raise NotFoundError(
                f"There is no permission {permission_id!r}.",
                hint="List the permissions to see their ids.",
            )

    async def revoke_all(self) -> int:
        """Revoke every permission.

        Returns the number of revoked permissions. Raises StoreError, and TreadleError if another
        server does not answer.
        """
        count = len(await self.list())
        await asyncio.to_thread(self._store.revoke, self._root)
        approvals = self._app.approvals
        approvals.revoke_session_grants([each.number for each in approvals.session_grants()])
        if self._others is not None:
            await self._others.revoke_permissions()
        return count

    def choices(self, approval_id: UUID) -> tuple[Choice, ...]:
        """The possible answers to a question. Raises NotFoundError if it no longer waits."""
        required = self._app.approvals.required(approval_id)
        if required is None:
            raise NotFoundError(
                f"The question {approval_id} no longer waits.", hint="Another answer arrived first."
            )
        remembered = [each for each in required.grants if each not in required.protected]
        actions = " and ".join(map(self._action, remembered))
        never = _never(required)
        session = (
            f"Allow this call. In this conversation, also {actions} without a question, until "
            "Treadle ends."
        )
        always = (
            f"Allow this call. In this repository, also {actions} without a question, until you "
            "revoke it."
        )
        return (
            Choice(ApprovalScope.ONCE, True, "Allow this call only."),
            Choice(ApprovalScope.SESSION, bool(actions), session if actions else never),
            Choice(ApprovalScope.ALWAYS, not required.protected, never or always),
            Choice(ApprovalScope.DENIED, True, "Do not allow this call."),
        )

    async def _revoke_permanent(self, number: int) -> int:
        """Revoke a permanent grant. Also revoke its copies in the approval gates."""
        stored = await asyncio.to_thread(self._store.list_grants, self._root)
        revoked = await asyncio.to_thread(self._store.revoke, self._root, number)
        grants = {each.grant for each in stored if each.number == number}
        self._app.approvals.revoke_equal(grants)
        if grants and self._others is not None:
            await self._others.revoke_permissions(grants=grants)
        return revoked

    def _action(self, grant: Grant) -> str:
        """Return the allowed action in words. The first word is a verb."""
        if grant.command:
            action = f"run `{grant.command}`"
            if grant.program:
                action = f"{action} with the program {grant.program}"
            return f"{action} while that program is unchanged" if grant.digest else action
        if not grant.path:
            return f"call {grant.tool} with any arguments"
        tool = self._app.registry.get(grant.tool)
        if tool is not None and tool.effect is ToolEffect.READ:
            return f"read {grant.path} with {grant.tool}"
        if tool is not None and tool.proposes:
            return f"{_VERBS.get(grant.tool, 'edit')} {grant.path} with {grant.tool}"
        return f"use {grant.tool} on {grant.path}"


def _never(required: RequiredGrants) -> str:
    """Return why no answer can be remembered. The text is empty if nothing is protected."""
    reasons = dict.fromkeys(required.protected.values())
    if not reasons:
        return ""
    return f"Not possible, because {' and '.join(reasons)}. Each change needs its own approval."


def _where(owner: UUID, conversation_id: UUID | None) -> str:
    if owner == conversation_id:
        return "in this conversation"
    return f"in the conversation {owner}"


def _sentence(action: str) -> str:
    return f"{action[0].upper()}{action[1:]}."
