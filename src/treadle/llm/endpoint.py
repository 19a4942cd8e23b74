"""One model behind one address: what every part of a request needs to know of its target."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from treadle.config.model import ProviderSettings

_LOOPBACK = ("localhost", "::1")


def is_loopback(base_url: str) -> bool:
    """Whether a server runs on this machine."""
    host = urlsplit(base_url).hostname or ""
    return host in _LOOPBACK or host.startswith("127.")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. `api_key` is never shown; `key_name` says where a person sets it."""

    provider: str
    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    key_name: str | None = None
    settings: ProviderSettings = field(default_factory=ProviderSettings)

    @property
    def loopback(self) -> bool:
        """Whether the server runs on this machine."""
        return is_loopback(self.base_url)
