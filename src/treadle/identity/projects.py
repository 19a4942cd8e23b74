"""The projects of an installation."""

from treadle.database import Database
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import NotFoundError, UsageError
from treadle.identity.identity import require_project_name
from treadle.identity.records import Project

_SELECT = "SELECT name, created_us, repository FROM projects"


class Projects:
    """The projects in the identity store. All methods block, and raise StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, now_us: int, repository: str | None = None) -> Project:
        """Add a project. Raises UsageError if the name is invalid or in use."""
        require_project_name(name)
        with self._database.use() as connection:
            added = connection.execute(
                "INSERT INTO projects (name, created_us, repository) VALUES (?, ?, ?)"
                " ON CONFLICT (name) DO NOTHING",
                (name, now_us, repository),
            ).rowcount
        if not added:
            raise UsageError(
                f"The project {name!r} already exists.",
                hint="Choose another name; `treadle projects list` shows the names in use.",
            )
        return Project(name, now_us, repository)

    def all(self) -> list[Project]:
        """Return all projects, sorted by name."""
        with self._database.use() as connection:
            rows = connection.execute(f"{_SELECT} ORDER BY name")
            return [Project(*row) for row in rows]

    def get(self, name: str) -> Project:
        """Return the project with that name. Raises NotFoundError if it does not exist."""
        self.require(name)
        with self._database.use() as connection:
            found = connection.execute(f"{_SELECT} WHERE name = ?", (name,))
            return Project(*found.fetchone())

    def exists(self, name: str) -> bool:
        """Whether a project with this name exists."""
        with self._database.use() as connection:
            found = connection.execute("SELECT 1 FROM projects WHERE name = ?", (name,))
            return found.fetchone() is not None

    def require(self, name: str) -> str:
        """Return the name of an existing project. Raises NotFoundError if it does not exist."""
        if not self.exists(name):
            raise NotFoundError(
                f"There is no project {name[:100]!r}.",
                hint=f"Add it with `treadle projects add {name[:30]}`, or list the projects with "
                "`treadle projects list`.",
            )
        return name

    def remove(self, name: str) -> None:
        """Remove a project with its keys, invitations and memberships. Its recorded data stays.

        Raises NotFoundError if it does not exist, and UsageError for the default project.
        """
        self.require(name)
        if name == DEFAULT_PROJECT:
            raise UsageError(
                f"The project {DEFAULT_PROJECT!r} cannot be removed.",
                hint="Revoke its keys with `treadle keys revoke`, and remove its users with "
                "`treadle users remove`.",
            )
        with self._database.use() as connection:
            connection.execute("DELETE FROM projects WHERE name = ?", (name,))
