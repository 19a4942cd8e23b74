"""The settings of `[sub_tasks]`: what the answers to questions of a model may cost."""

from pydantic import Field

from treadle.config.section import Section


class SubTaskSettings(Section):
    """Limits of each question that a model hands to a fresh session with `ask_code`.

    The limits of the whole session apply as well: the questions of a call share what is left.
    """

    tokens: int = Field(default=150_000, ge=1_000)
    """Maximum tokens of one question, over all its model requests."""
    turns: int = Field(default=12, ge=1)
    """Maximum number of model replies to one question."""
    seconds: float = Field(default=300.0, gt=0)
    """Maximum seconds of one question."""
    max_concurrent: int = Field(default=3, ge=1, le=16)
    """Maximum number of questions of a call that are answered at the same time."""
