"""The settings of the gateway: where calls go, what they may cost, what is held and kept.

It serves every program on this machine and spends with the user's keys, so no repository sets any
of it.
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
    """Where calls go that meet all of its conditions. The first route that fits is taken."""

    to: Annotated[tuple[Target, ...], UserOnly()] = Field(min_length=1)
    """PROVIDER/MODEL to ask, the next where one fails; PROVIDER/* keeps the model's name."""
    weights: Annotated[tuple[float, ...], UserOnly()] = ()
    """Shares of the calls, one for each of `to`; unset asks them in their order."""
    models: Annotated[tuple[str, ...], UserOnly()] = ()
    """Names of models as clients ask for them, with `*` and `?`; unset takes the route's name."""
    labels: Annotated[tuple[str, ...], UserOnly()] = ()
    """Labels of which the call has one, with `*` and `?`."""
    headers: Annotated[dict[str, str], UserOnly()] = Field(default_factory=dict)
    """Headers that the call has, with `*` and `?` in their values."""
    tools: Annotated[bool | None, UserOnly()] = None
    """Whether the call offers tools."""
    images: Annotated[bool | None, UserOnly()] = None
    """Whether the call holds images."""
    min_size: Annotated[Size | None, UserOnly()] = None
    """Size of the body from which on it fits."""
    max_size: Annotated[Size | None, UserOnly()] = None
    """Size of the body up to which it fits."""

    @model_validator(mode="after")
    def _weighs_all(self) -> Self:
        if self.weights and len(self.weights) != len(self.to):
            raise ValueError("weights should hold one number for each entry of to")
        if any(weight < 0 for weight in self.weights) or (self.weights and not sum(self.weights)):
            raise ValueError("weights should not be below 0, nor all 0")
        return self


class GatewayBudget(Section):
    """What calls may use up in a period; then they are refused. Periods are those of UTC."""

    labels: Annotated[tuple[str, ...], UserOnly()] = ()
    """Labels whose calls count, with `*` and `?`; with `key_env` unset too, all calls do."""
    key_env: Annotated[str | None, UserOnly()] = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"
    )
    """Name of the environment variable with the key that the calls which count are made with."""
    cost: Annotated[float | None, UserOnly()] = Field(default=None, gt=0)
    """US dollars."""
    tokens: Annotated[int | None, UserOnly()] = Field(default=None, gt=0)
    """Tokens, input and output together."""
    period: Annotated[Literal["day", "month"], UserOnly()] = "day"
    """The period after which it restarts."""
    unknown_price: Annotated[float | None, UserOnly()] = Field(default=None, ge=0)
    """US dollars for a million tokens of a model without a known price; unset refuses its calls."""


class GatewayCache(Section):
    """Answers that are given again to a call that is the same to the letter. Kept in memory."""

    enabled: Annotated[bool, UserOnly()] = False
    """Whether answers are kept."""
    max_age: Annotated[Age, UserOnly()] = "1h"
    """Age at which an answer is forgotten."""
    max_size: Annotated[Size, UserOnly()] = "64MB"
    """Size of all kept answers; those that were not asked for longest go first."""


class GatewayBreakpoints(Section):
    """How long calls are held at breakpoints, unless a breakpoint says otherwise."""

    timeout: Annotated[Age, UserOnly()] = "5m"
    """Time after which a held call is decided without a person."""
    on_expiry: Annotated[Literal["continue", "refuse"], UserOnly()] = "continue"
    """What happens to the call then."""


class GatewaySettings(Section):
    """The OpenAI-compatible gateway of `treadle serve`."""

    provider: Annotated[str | None, UserOnly()] = None
    """Provider that is asked for models which no provider lists."""
    pass_client_keys: Annotated[bool, UserOnly()] = False
    """Whether the client's own key is sent on, in place of the provider's configured one."""
    ask_for_usage: Annotated[bool, UserOnly()] = True
    """Whether streams are asked for their usage where the client does not; it gets none of it."""
    max_body: Annotated[Size, UserOnly()] = "50MB"
    """The largest request that is taken."""
    max_wait: Annotated[float, UserOnly()] = Field(default=30.0, ge=0)
    """Seconds of the longest wait before another attempt; a longer one is left to the client."""
    models_timeout: Annotated[float, UserOnly()] = Field(default=5.0, gt=0)
    """Seconds that a provider may take to list its models."""
    models_max_age: Annotated[Age, UserOnly()] = "5m"
    """Age at which a list of models is requested again."""
    routes: dict[str, GatewayRoute] = Field(default_factory=dict)
    """Routes by name, the first that fits first."""
    budgets: dict[str, GatewayBudget] = Field(default_factory=dict)
    """Budgets by name; a call counts for all that it fits."""
    cache: GatewayCache = Field(default_factory=GatewayCache)
    breakpoints: GatewayBreakpoints = Field(default_factory=GatewayBreakpoints)
