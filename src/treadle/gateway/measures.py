"""What the gateway counts: calls, tokens, costs, and the time to the first token."""

from collections.abc import Iterable
from threading import Lock

from treadle.measures import Counter, Histograms, Names
from treadle.spans.span import Span, SpanKind, SpanStatus


class GatewayMeasures:
    """Counts the calls of all projects of a server. Several threads may call `record`.

    Clients choose the names of models. A name is counted separately only after a call of that model
    succeeded.
    """

    def __init__(self) -> None:
        self.calls = Counter()
        """The number of calls by provider, model and status."""
        self.tokens = Counter()
        """The number of tokens by provider, model and direction."""
        self.dollars = Counter()
        """The cost in US dollars by provider and model."""
        self.first_token = Histograms()
        """The seconds to the first token by provider and model."""
        self._lock = Lock()
        self._models = Names()
        self._providers = Names()

    def record(self, spans: Iterable[Span]) -> None:
        """Count the attempts of a call: its spans, except for those of agents and approvals."""
        with self._lock:
            for span in spans:
                if span.kind not in {SpanKind.AGENT, SpanKind.APPROVAL}:
                    self._record_attempt(span)

    def _record_attempt(self, span: Span) -> None:
        succeeded = span.status is SpanStatus.OK
        provider = self._providers.label(span.provider or "", add=succeeded)
        model = self._models.label(span.model or "", add=succeeded)
        self.calls.add((provider, model, span.status.value))
        directions = (("input", span.tokens.input), ("output", span.tokens.output))
        for direction, count in directions:
            if count:
                self.tokens.add((provider, model, direction), count)
        if span.cost:
            self.dollars.add((provider, model), span.cost)
        if span.time_to_first_token_us is not None:
            self.first_token.observe((provider, model), span.time_to_first_token_us / 1e6)
