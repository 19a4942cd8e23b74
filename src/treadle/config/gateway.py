"""The settings of the gateway: routes, budgets, cache and breakpoints.

The gateway serves every program on this machine and spends money with the user's API keys. A
repository therefore cannot set any of these settings.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from treadle.config.section import Age, Section, Size, UserOnly


def _target(value: str) -> str:
    provider, _, model = value.partition("/")
    if not provider or not model:
        raise ValueError("should be PROVIDER/MODEL, or PROVIDER/* to keep the name of the model")
    return value


Target = Annotated[str, AfterValidator(_target)]


class GatewayRoute(Section):
    """A route for calls that meet all of its conditions. The first matching route applies."""

    to: Annotated[tuple[Target, ...], UserOnly()] = Field(min_length=1)
    """PROVIDER/MODEL targets, tried in order. PROVIDER/* keeps the requested model name."""
    weights: Annotated[tuple[float, ...], UserOnly()] = ()
    """Weights for a random order of the entries of `to`. If unset, the order of `to` applies."""
    models: Annotated[tuple[str, ...], UserOnly()] = ()
    """Patterns of requested models, with `*` and `?`. If unset, the route's name is the pattern."""
    labels: Annotated[tuple[str, ...], UserOnly()] = ()
    """Patterns of labels, with `*` and `?`. The call must have a matching label."""
    headers: Annotated[dict[str, str], UserOnly()] = Field(default_factory=dict)
    """Headers that the call must have. Their values may contain `*` and `?`."""
    tools: Annotated[bool | None, UserOnly()] = None
    """If true, the call must offer tools. If false, it must offer none. If unset, both match."""
    images: Annotated[bool | None, UserOnly()] = None
    """If true, the call must contain images. If false, it must have none. If unset, both match."""
    min_size: Annotated[Size | None, UserOnly()] = None
    """Minimum size of the request body."""
    max_size: Annotated[Size | None, UserOnly()] = None
    """Maximum size of the request body."""

    @model_validator(mode="after")
    def _weighs_all(self) -> Self:
        if self.weights and len(self.weights) != len(self.to):
            raise ValueError("weights should have one number for each entry of to")
        if any(weight < 0 for weight in self.weights) or (self.weights and not sum(self.weights)):
            raise ValueError("weights should not be negative, and at least one should be above 0")
        return self


class GatewayBudget(Section):
    """How much calls may use in a period. Further calls are refused. Periods begin at 00:00 UTC."""

    labels: Annotated[tuple[str, ...], UserOnly()] = ()
    """Patterns of labels of the calls to count, with `*` and `?`. If unset, all labels match."""
    key_env: Annotated[str | None, UserOnly()] = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"
    )
    """Environment variable with an API key. If set, only calls that use this key are counted."""
    cost: Annotated[float | None, UserOnly()] = Field(default=None, gt=0)
    """Maximum cost of a period in US dollars."""
    tokens: Annotated[int | None, UserOnly()] = Field(default=None, gt=0)
    """Maximum tokens of a period, input and output together."""
    period: Annotated[Literal["day", "month"], UserOnly()] = "day"
    """Period after which the budget starts again."""
    unknown_price: Annotated[float | None, UserOnly()] = Field(default=None, ge=0)
    """US dollars per million tokens of unknown price. If unset, unpriced calls are refused."""


class GatewayCache(Section):
    """Cache of answers to identical calls. It is kept in memory."""

    enabled: Annotated[bool, UserOnly()] = False
    """Whether answers are cached."""
    max_age: Annotated[Age, UserOnly()] = "1h"
    """Age at which an answer expires."""
    max_size: Annotated[Size, UserOnly()] = "64MB"
    """Maximum size of the cache. The least recently used answers are removed first."""


class GatewayBreakpoints(Section):
    """How calls are held at breakpoints, unless a breakpoint sets its own values."""

    timeout: Annotated[Age, UserOnly()] = "5m"
    """Time after which a held call expires."""
    on_expiry: Annotated[Literal["continue", "refuse"], UserOnly()] = "continue"
    """Whether a held call that expires is forwarded or refused."""


class GatewaySettings(Section):
    """The OpenAI-compatible gateway of `treadle serve`."""

    provider: Annotated[str | None, UserOnly()] = None
    """Name of the provider for models that no provider lists."""
    pass_client_keys: Annotated[bool, UserOnly()] = False
    """Whether the client's own API key replaces the provider's configured key."""
    ask_for_usage: Annotated[bool, UserOnly()] = True
    """Whether to request token usage in streams. The client only sees usage that it requested."""
    max_body: Annotated[Size, UserOnly()] = "50MB"
    """Maximum size of a request body."""
    max_wait: Annotated[float, UserOnly()] = Field(default=30.0, ge=0)
    """Maximum wait before a retry, in seconds. A retry that requires a longer wait is left out."""
    models_timeout: Annotated[float, UserOnly()] = Field(default=5.0, gt=0)
    """Timeout for listing a provider's models, in seconds."""
    models_max_age: Annotated[Age, UserOnly()] = "5m"
    """Age at which a list of models is requested again."""
    routes: dict[str, GatewayRoute] = Field(default_factory=dict)
    """Routes by name, in order of precedence."""
    budgets: dict[str, GatewayBudget] = Field(default_factory=dict)
    """Budgets by name. A call counts toward every budget that it matches."""
    cache: GatewayCache = Field(default_factory=GatewayCache)
    breakpoints: GatewayBreakpoints = Field(default_factory=GatewayBreakpoints)
