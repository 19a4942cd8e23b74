"""Estimates of tokens held against what providers count, for each model."""

from treadle.llm.chat_model import ChatModel

_CREDIBLE = (0.5, 2.0)
"""A count further than this from the estimate is one of something else, and teaches nothing.

Vocabularies of current models differ from the estimated one by up to 1.4 (docs/decisions, 9).
"""


class Calibration:
    """By how much estimates are scaled for each model, and which models have a smaller window."""

    def __init__(self) -> None:
        self._scales: dict[tuple[str, str], float] = {}
        self._windows: dict[tuple[str, str], int] = {}

    def scale(self, model: ChatModel) -> float:
        """What to multiply an estimate with."""
        return self._scales.get((model.provider, model.model), 1.0)

    def window(self, model: ChatModel) -> int:
        """Tokens of input and output together: as known of the model, or less if it said so."""
        known = self._windows.get((model.provider, model.model), model.context_window)
        return min(known, model.context_window)

    def narrow(self, model: ChatModel, window: int) -> None:
        """Take from now on that the model's window is only so large."""
        self._windows[model.provider, model.model] = window

    def learn(self, model: ChatModel, estimated: int, counted: int | None) -> None:
        """Take what the provider counted of a request that was estimated, unscaled, at so much.

        The last request counts alone: the next one holds all of it and a little more.
        """
        if counted is None or not estimated:
            return
        least, most = _CREDIBLE
        if least <= counted / estimated <= most:
            self._scales[model.provider, model.model] = counted / estimated
