"""Variants by their names: what is run, and what is compared with."""

import re
from collections.abc import Sequence
from dataclasses import replace

from treadle.errors import UsageError
from treadle.experiments.comparing import RECORDED
from treadle.experiments.model import CURRENT, ORIGINAL, Batch, Variant

_VERSION = re.compile(r"v?(\d{1,6})")


def base_number(batch: Batch, name: str | None) -> int | None:
    """Which variant is compared with; None for what was recorded. Raises UsageError."""
    names = [variant.name for variant in batch.plan.variants]
    if name == RECORDED:
        return None
    if name is not None:
        wanted = ORIGINAL if name == "v0" else name.replace("@", " with ")
        if wanted not in names:
            raise UsageError(
                f"The batch has no variant {name!r}.",
                hint=f"It has {', '.join(names)}; {RECORDED} is also available.",
            )
        return names.index(wanted)
    if len(names) == 1:
        return None
    return names.index(ORIGINAL) if ORIGINAL in names else 0


def named_variant(name: str, current: int) -> Variant:
    """`original`, `current` or `v2`, perhaps with a model behind an `@`. Raises UsageError."""
    version, _, model = name.partition("@")
    if version in {ORIGINAL, CURRENT}:
        return Variant(0 if version == ORIGINAL else current, model or None)
    found = _VERSION.fullmatch(version)
    if found is None or int(found[1]) > current:
        raise UsageError(
            f"There is no variant {name[:100]!r}.",
            hint=f"Available: {ORIGINAL}, {CURRENT} and v1 to v{current}; a model follows an @."
            if current
            else f"The experiment has no changes: only {ORIGINAL} is available.",
        )
    return Variant(int(found[1]), model or None)


def with_models(variant: Variant, models: Sequence[str]) -> list[Variant]:
    """The variant with each of the models, unless it has one of its own."""
    if variant.model is not None or not models:
        return [variant]
    return [replace(variant, model=model) for model in models]
