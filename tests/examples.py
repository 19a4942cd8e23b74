"""The number of examples that a property test draws."""

from hypothesis import settings


def draw(times: int) -> settings:
    """Draw a multiple of the examples that a property test draws by default.

    The default is less in quick runs, so a test that needs many examples draws them in full runs.
    """
    return settings(max_examples=times * settings().max_examples)
