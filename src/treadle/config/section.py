"""The base of all tables of settings, and marks that restrict who may change a setting."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from treadle.config.quantities import age_us, size_bytes


class NeedsConsent:
    """Marks a setting that a repository may set only when the user trusts it.

    An address, a source of keys or a routing preference decides who receives the user's prompts and
    keys, so a cloned repository must not choose it. A repository must not raise spending limits
    either.
    """


class UserOnly(NeedsConsent):
    """Marks a setting that a repository may never set, not even a trusted one."""


class Joined:
    """Marks a list to which every layer adds, so that no layer removes entries of another.

    Only restrictions are joined: a repository may forbid more than the user did, never less.
    """


def checked(read: Callable[[str], object]) -> AfterValidator:
    """Marks a text that `read` must accept; the setting keeps the text as it was written."""

    def check(value: str) -> str:
        read(value)
        return value

    return AfterValidator(check)


Age = Annotated[str, checked(age_us)]
Size = Annotated[str, checked(size_bytes)]


class Section(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
