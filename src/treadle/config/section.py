"""What all tables of settings share: their base, and marks that say who may set what."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from treadle.config.quantities import age_us, size_bytes


class NeedsConsent:
    """Marks a setting that a repository may set only when the user trusts it.

    An address, a source of keys or a routing preference decides who gets to see the user's
    prompts and keys, so a repository that was merely cloned must not choose it. It must not raise
    what the user allowed to be spent.
    """


class UserOnly(NeedsConsent):
    """Marks a setting that no repository may set, not even a trusted one."""


class Joined:
    """Marks a list to which every layer adds, so that none takes away what another one put there.

    Only what narrows is joined: a repository may forbid more than the user did, never less.
    """


def checked(read: Callable[[str], object]) -> AfterValidator:
    """For a text that `read` must be able to read; what is set stays as it was written."""

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
