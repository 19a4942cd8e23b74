"""The route that reports the git branch and the code index of the repository."""

from treadle.app.repository_state import RepositoryState, repository_state
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import JsonOf
from treadle.server.routers import api_router

router = api_router("", "health")


@router.get("/repository")
async def repository(server: CurrentServer) -> JsonOf[RepositoryState]:
    """Return the folder, the git branch and the state of the index."""
    return await repository_state(server.app.root, server.app.index)
