"""Reads the vendors that a router offers for a model, in the form of OpenRouter."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from treadle.clock import SystemClock
from treadle.config.model import Settings
from treadle.llm import provider_errors
from treadle.llm.client import calling, new_client
from treadle.llm.profiles import UNNAMED, endpoint_for, unnamed_endpoint
from treadle.llm.provider_errors import ProviderError

_LIST_SECONDS = 15.0
_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Vendor:
    """A company that serves a model of a router. Prices are US dollars per million tokens.

    Unknown values are None. `uptime` is the uptime in the last half hour, in percent.
    """

    name: str
    context_window: int | None
    input_price: float | None
    output_price: float | None
    takes_tools: bool | None
    quantization: str | None
    uptime: float | None


async def model_vendors(
    settings: Settings, env: Mapping[str, str], provider: str, model: str
) -> tuple[Vendor, ...]:
    """Return the vendors of a model. The result is empty if the provider lists no vendors.

    Raises ProviderError and ConfigError.
    """
    endpoint = unnamed_endpoint(settings, env, model) if provider == UNNAMED else None
    endpoint = endpoint or await endpoint_for(settings, env, provider, model)
    client = await asyncio.to_thread(new_client, endpoint)
    path = f"/models/{quote(model, safe='/:')}/endpoints"
    try:
        async with asyncio.timeout(_LIST_SECONDS), calling(endpoint, SystemClock()):
            answer = await client.get(path, cast_to=str, options={"timeout": _LIST_SECONDS})
        return _parsed(json.loads(answer))
    except TimeoutError as error:
        why = f"its list of vendors did not arrive within {_LIST_SECONDS:g} s"
        raise provider_errors.broken_off(endpoint, why) from error
    except (ValueError, RecursionError):
        return ()
    except ProviderError as error:
        if error.status in {404, 405}:
            return ()
        raise
    finally:
        await client.close()


def _parsed(answer: object) -> tuple[Vendor, ...]:
    data = answer.get("data") if isinstance(answer, dict) else None
    listed = data.get("endpoints") if isinstance(data, dict) else None
    entries = listed if isinstance(listed, list) else []
    return tuple(_vendor(entry) for entry in entries if isinstance(entry, dict))


def _vendor(entry: Mapping[str, object]) -> Vendor:
    price = entry.get("pricing")
    prices = price if isinstance(price, dict) else {}
    parameters = entry.get("supported_parameters")
    window, kept = entry.get("context_length"), entry.get("quantization")
    uptime = entry.get("uptime_last_30m")
    return Vendor(
        name=str(entry.get("provider_name") or entry.get("name") or "?"),
        context_window=window if isinstance(window, int) else None,
        input_price=_price(prices.get("prompt")),
        output_price=_price(prices.get("completion")),
        takes_tools="tools" in parameters if isinstance(parameters, list) else None,
        quantization=kept if isinstance(kept, str) and kept != "unknown" else None,
        uptime=float(uptime) if isinstance(uptime, int | float) else None,
    )


def _price(value: object) -> float | None:
    """Return dollars per million tokens, from dollars per token as a number or its text."""
    try:
        price = float(value) * _TOKENS if isinstance(value, str | int | float) else None
    except ValueError:
        return None
    return price if price is not None and price >= 0 else None
