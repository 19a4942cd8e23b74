"""Routes that list and revoke the permissions that a person gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import Request

from treadle.app.permissions import Permission, Permissions
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import JsonOf
from treadle.server.request_identity import withdraw_action
from treadle.server.routers import api_router

router = api_router("/permissions", "approvals")


@dataclass(frozen=True, slots=True)
class PermissionList:
    """First the permanent permissions, then those of single conversations.

    In each group, the oldest permission comes first.
    """

    data: Sequence[Permission]


@dataclass(frozen=True, slots=True)
class Revoked:
    """The number of revoked permissions."""

    revoked: int


@router.get("")
async def permissions(
    server: CurrentServer, conversation_id: UUID | None = None
) -> JsonOf[PermissionList]:
    """Return the calls that are allowed without a question.

    Each permission is described by a sentence. If it is a permission of the conversation with the
    id `conversation_id`, the sentence calls that conversation "this conversation".
    """
    return PermissionList(await Permissions(server.app, server.others).list(conversation_id))


@router.delete("")
async def revoke_all(server: CurrentServer, request: Request) -> JsonOf[Revoked]:
    """Revoke all permissions."""
    revoked = await Permissions(server.app, server.others).revoke_all()
    if not revoked:
        withdraw_action(request)
    return Revoked(revoked)


@router.delete("/{permission_id}")
async def revoke(server: CurrentServer, permission_id: str) -> JsonOf[Revoked]:
    """Revoke one permission by its `id`."""
    await Permissions(server.app, server.others).revoke(permission_id)
    return Revoked(1)
