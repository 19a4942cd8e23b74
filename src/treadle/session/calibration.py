"""The values that Treadle learns about each model: a factor for token counts, and the window."""

from treadle.llm.chat_model import ChatModel

_CREDIBLE = (0.5, 2.0)
"""The credible range of the quotient of a provider's token count and Treadle's estimate.

A count outside this range is ignored. The counts of current models differ from the estimates by a
factor of up to 1.4 (docs/decisions, 9).
"""


class Calibration:
    """Keeps a factor for token estimates and the learned context window, for each model."""

    def __init__(self) -> None:
        self._scales: dict[tuple[str, str], float] = {}
        self._windows: dict[tuple[str, str], int] = {}

    def scale(self, model: ChatModel) -> float:
        """Return the factor that converts an estimate to tokens of the model."""
        return self._scales.get((model.provider, model.model), 1.0)

    def window(self, model: ChatModel) -> int:
        """Return the window of the model: the maximum sum of input and output tokens.

        It may be smaller than the configured window if a provider refused a prompt.
        """
        known = self._windows.get((model.provider, model.model), model.context_window)
        return min(known, model.context_window)

    def narrow(self, model: ChatModel, window: int) -> None:
        """Set a smaller window for the later requests of a model."""
        self._windows[model.provider, model.model] = window

    def learn(self, model: ChatModel, estimated: int, counted: int | None) -> None:
        """Set the factor of a model from the tokens that its provider counted for a request.

        `estimated` is the unscaled estimate of the request. The new factor replaces the old one,
        since a later request contains the messages of the earlier requests. If `counted` is None,
        nothing changes.
        """
        if counted is None or not estimated:
            return
        least, most = _CREDIBLE
        if least <= counted / estimated <= most:
            self._scales[model.provider, model.model] = counted / estimated
