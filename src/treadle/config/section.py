"""The base class of all tables of settings, and annotations that restrict who may set a setting."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from treadle.config.quantities import age_us, size_bytes


class NeedsConsent:
    """Marks a setting that a repository may set only when the user trusts the repository.

    An address, a source of API keys or a routing preference decides who receives the user's prompts
    and keys. A cloned repository must not make this decision. A repository must not raise spending
    limits either.
    """


class UserOnly(NeedsConsent):
    """Marks a setting that a repository may never set, even if the user trusts the repository."""


class ServerWide:
    """Marks a setting of the whole process, which the file of a project cannot set.

    All settings in the tables of the server are such settings, too (`schema.is_server_wide`).
    """


class Joined:
    """Marks a list to which every layer adds entries.

    No layer removes the entries of another layer. Only lists of restrictions are joined in this
    way. A repository may therefore forbid more than the user, but never less.
    """


def checked(read: Callable[[str], object]) -> AfterValidator:
    """Return a validator for a text that `read` must accept.

    The setting keeps the original text.
    """

    def check(value: str) -> str:
        read(value)
        return value

    return AfterValidator(check)


Age = Annotated[str, checked(age_us)]
Size = Annotated[str, checked(size_bytes)]


class Section(BaseModel):
    """Base class of a table of settings."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
