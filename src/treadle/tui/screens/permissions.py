"""Lists the permissions that the person gave. The person can revoke each of them."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar
from uuid import UUID

from textual import work
from textual.binding import BindingType
from textual.content import Content

from treadle.app.permissions import Permission
from treadle.clock import when
from treadle.errors import TreadleError
from treadle.events.types import ApprovalScope
from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.picker import Picker
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

_SCOPES = {ApprovalScope.SESSION: "this session", ApprovalScope.ALWAYS: "always"}


class PermissionsScreen(Picker[Permission, None]):
    """The permissions of the repository: the permanent ones, then those of conversations."""

    TITLE_TEXT = "Permissions"
    ENTER = "Show"
    PLACE = Where.PERMISSIONS
    FILTER = None
    EMPTY = (
        "Nothing is allowed beyond the rules of the configuration. Answers to questions, for this "
        "session or always, appear here."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.PERMISSIONS)

    def __init__(self, workbench: Workbench, conversation: UUID | None) -> None:
        super().__init__()
        self._workbench = workbench
        self._conversation = conversation
        self._count = 0

    async def find_rows(self, query: str) -> Sequence[Row[Permission]]:  # noqa: ARG002
        """All permissions."""
        found = await self._workbench.permissions(self._conversation)
        self._count = len(found)
        return [Row(each.id, each, partial(_row, each)) for each in found]

    def summary(self) -> str:
        """The number of permissions."""
        return f"{self._count:,}" if self._count else ""

    async def preview(self, value: Permission, columns: int) -> Content:  # noqa: ARG002
        """The whole sentence of the permission, and when the permission ends."""
        lasts = (
            "until Treadle ends, or until you revoke it."
            if value.granted_us is None
            else f"since {when(value.granted_us)}, until you revoke it."
        )
        return Content("\n\n").join([foreign(value.sentence), Content(f"Allowed {lasts}")])

    async def choose_row(self, value: Permission) -> None:
        """Show the sentence of the permission below the list."""
        self.show_message(value.sentence)

    # The methods that run the actions in `treadle.tui.actions`.

    @work(exclusive=True, group="revoke")
    async def action_revoke_permission(self) -> None:
        """Revoke the highlighted permission."""
        value = await self.settled()
        if value is None:
            return
        try:
            await self._workbench.revoke(value.id)
        except TreadleError as error:
            self.reload(str(error), error=True)
        else:
            self.reload(f"Revoked: {value.sentence}")


def _row(permission: Permission, columns: int) -> Content:
    scope = Content.styled(f"{_SCOPES.get(permission.scope, ''):<13} ", "$text-primary")
    given = "" if permission.granted_us is None else when(permission.granted_us)
    main = Content.assemble(scope, foreign_line(permission.sentence))
    return fields(columns, main, (Content(given), 16))
