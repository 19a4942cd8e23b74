"""The settings of the gateway: routes, budgets, cache and breakpoints.

The gateway serves every program on this machine and spends with the user's keys, so a repository
cannot set any of them.
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
    """Targets of calls that meet all conditions. The first matching route applies."""

    to: Annotated[tuple[Target, ...], UserOnly()] = Field(min_length=1)
    """Each PROVIDER/MODEL to call, until one succeeds; PROVIDER/* keeps the model's name."""
    weights: Annotated[tuple[float, ...], UserOnly()] = ()
    """Relative shares of the calls, one per entry of `to`; unset tries them in order."""
    models: Annotated[tuple[str, ...], UserOnly()] = ()
    """Model names in requests, with `*` and `?`; unset uses the route's name."""
    labels: Annotated[tuple[str, ...], UserOnly()] = ()
    """Labels, with `*` and `?`; the call has at least one."""
    headers: Annotated[dict[str, str], UserOnly()] = Field(default_factory=dict)
    """Headers that the call has; values may contain `*` and `?`."""
    tools: Annotated[bool | None, UserOnly()] = None
    """Whether the call offers tools."""
    images: Annotated[bool | None, UserOnly()] = None
    """Whether the call contains images."""
    min_size: Annotated[Size | None, UserOnly()] = None
    """Minimum size of the body."""
    max_size: Annotated[Size | None, UserOnly()] = None
    """Maximum size of the body."""

    @model_validator(mode="after")
    def _weighs_all(self) -> Self:
        if self.weights and len(self.weights) != len(self.to):
            raise ValueError("weights should have one number for each entry of to")
        if any(weight < 0 for weight in self.weights) or (self.weights and not sum(self.weights)):
            raise ValueError("weights should not be negative, and at least one should be above 0")
        return self


class GatewayBudget(Section):
    """How much calls may use in a period; further calls are refused. Periods start in UTC."""

    labels: Annotated[tuple[str, ...], UserOnly()] = ()
    """Labels of the calls to count, with `*` and `?`; all calls if `key_env` is unset too."""
    key_env: Annotated[str | None, UserOnly()] = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"
    )
    """Count calls made with the key in this environment variable."""
    cost: Annotated[float | None, UserOnly()] = Field(default=None, gt=0)
    """Maximum US dollars."""
    tokens: Annotated[int | None, UserOnly()] = Field(default=None, gt=0)
    """Maximum tokens, input and output together."""
    period: Annotated[Literal["day", "month"], UserOnly()] = "day"
    """Period after which the budget starts again."""
    unknown_price: Annotated[float | None, UserOnly()] = Field(default=None, ge=0)
    """US dollars per million tokens of a model without a known price; unset refuses its calls."""


class GatewayCache(Section):
    """Cache of answers to identical calls. It is kept in memory."""

    enabled: Annotated[bool, UserOnly()] = False
    """Whether answers are cached."""
    max_age: Annotated[Age, UserOnly()] = "1h"
    """Age at which an answer expires."""
    max_size: Annotated[Size, UserOnly()] = "64MB"
    """Maximum size of the cache; the least recently used answers are removed first."""


class GatewayBreakpoints(Section):
    """How long calls are held at breakpoints, unless a breakpoint sets its own values."""

    timeout: Annotated[Age, UserOnly()] = "5m"
    """Time after which a held call expires."""
    on_expiry: Annotated[Literal["continue", "refuse"], UserOnly()] = "continue"
    """What happens to a held call that expires."""


class GatewaySettings(Section):
    """The OpenAI-compatible gateway of `treadle serve`."""

    provider: Annotated[str | None, UserOnly()] = None
    """Provider for models that no provider lists."""
    pass_client_keys: Annotated[bool, UserOnly()] = False
    """Whether the client's own key replaces the provider's configured key."""
    ask_for_usage: Annotated[bool, UserOnly()] = True
    """Whether to request usage in streams when the client does not; the client does not see it."""
    max_body: Annotated[Size, UserOnly()] = "50MB"
    """Maximum size of a request."""
    max_wait: Annotated[float, UserOnly()] = Field(default=30.0, ge=0)
    """Maximum wait before a retry, in seconds; longer waits are left to the client."""
    models_timeout: Annotated[float, UserOnly()] = Field(default=5.0, gt=0)
    """Timeout for listing a provider's models, in seconds."""
    models_max_age: Annotated[Age, UserOnly()] = "5m"
    """Age at which a list of models is refreshed."""
    routes: dict[str, GatewayRoute] = Field(default_factory=dict)
    """Routes by name, in order of precedence."""
    budgets: dict[str, GatewayBudget] = Field(default_factory=dict)
    """Budgets by name; a call counts toward every budget that matches it."""
    cache: GatewayCache = Field(default_factory=GatewayCache)
    breakpoints: GatewayBreakpoints = Field(default_factory=GatewayBreakpoints)
