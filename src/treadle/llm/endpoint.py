"""The target of model requests: one model at one address."""

import re
import socket
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from treadle.config.model import ProviderSettings

_SHORT_IPV4 = re.compile(r"[0-9a-fA-FxX.]*[0-9]", re.ASCII)
"""Matches IPv4 addresses in all forms that connections accept, such as `127.1` or `0x7f000001`."""


def is_loopback(base_url: str) -> bool:
    """Whether a server runs on this machine."""
    host = (urlsplit(base_url).hostname or "").removesuffix(".")
    if host == "localhost":
        return True
    try:
        ip = ip_address(socket.inet_aton(host)) if _SHORT_IPV4.fullmatch(host) else ip_address(host)
    except (OSError, ValueError):
        return False  # a name such as 127.example.com
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return ip.is_loopback or ip.is_unspecified


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address, the target of requests.

    `api_key` is never shown. `key_name` describes for messages where the key is set, such as the
    name of a variable.
    """

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
