"""What sessions that a tool call starts have in common: their conversation and their limits."""

from collections.abc import Mapping
from pathlib import Path

from treadle.clock import Clock
from treadle.config.model import LimitSettings
from treadle.ids import new_id
from treadle.session import Conversation


def new_conversation(root: Path, clock: Clock, *, model: str = "") -> Conversation:
    """A conversation that is not saved."""
    now = clock.now_us()
    return Conversation(new_id(), str(root), model, now, now)


def stricter_limits(settings: LimitSettings, own: Mapping[str, float | None]) -> LimitSettings:
    """Return the limits of a nested session.

    Each limit is the smaller one of the values in `settings` and `own`.
    """
    both = {
        name: [each for each in (getattr(settings, name), value) if each is not None]
        for name, value in own.items()
    }
    return settings.model_copy(
        update={name: min(pair, default=None) for name, pair in both.items()}
    )
