"""The options of one request. The terminal uses them before it imports the assistant."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of one request.

    If `model` is None, the settings select the model. Without `tools`, the model gets no tools.
    Without `stream`, the reply is requested as a whole.
    """

    model: str | None = None
    tools: bool = True
    stream: bool = True
