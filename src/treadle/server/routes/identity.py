"""Routes about the sender of a request: who it is, signing in with an invitation, signing out."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from treadle.identity.identity import Proof, Role
from treadle.identity.identity import Scope as AccessScope
from treadle.server.authentication import client_address
from treadle.server.identity_services import CurrentIdentityServices
from treadle.server.openapi import JsonOf
from treadle.server.request_identity import CurrentIdentity, session_of
from treadle.server.routers import api_router

router = api_router("/identity", "identity")


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request.

    `proof` states how the request proved its sender. `name` is the name of the API key or the
    e-mail address of the user, and `role` is the role of the user in `project`. `projects` has all
    projects in which the user has a role. The header `X-Treadle-Project` chooses one of them.
    """

    proof: Proof
    name: str
    project: str
    role: Role | None
    scopes: Sequence[AccessScope]
    projects: Sequence[str]


class Invitation(BaseModel):
    """The secret of an invitation: the part of its link after `#invitation=`."""

    model_config = ConfigDict(extra="forbid")

    invitation: str = Field(min_length=1, max_length=200)


@router.get("")
async def sender(identity: CurrentIdentity, services: CurrentIdentityServices) -> JsonOf[Sender]:
    """Return the sender of this request, and what it may do."""
    projects = await services.identities.projects_of(identity)
    scopes = sorted(identity.scopes)
    return Sender(identity.proof, identity.name, identity.project, identity.role, scopes, projects)


@router.post("/invitations", status_code=204)
async def accept_invitation(
    request: Request, response: Response, services: CurrentIdentityServices, body: Invitation
) -> None:
    """Use up an invitation, and sign its user in. The response sets the cookie of the session."""
    address = client_address(request.scope)
    secret = await services.identities.accept_invitation(body.invitation, address)
    services.cookies.set(response, secret)


@router.delete("/session", status_code=204)
async def sign_out(
    request: Request,
    response: Response,
    identity: CurrentIdentity,
    services: CurrentIdentityServices,
) -> None:
    """End the session of the browser, and delete its cookie."""
    secret = session_of(request.scope)
    if secret is not None:
        await services.identities.end_session(secret, identity, client_address(request.scope))
    services.cookies.delete(response)
