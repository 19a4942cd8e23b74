"""A client of NATS that decodes the user name and the password in an address."""

from urllib.parse import ParseResult, unquote

from nats.aio.client import Client


class BusAddress(ParseResult):
    """An address whose user name and password are percent-decoded."""

    @property
    def username(self) -> str | None:
        name = super().username
        return None if name is None else unquote(name)

    @property
    def password(self) -> str | None:
        password = super().password
        return None if password is None else unquote(password)


class BusClient(Client):
    """Decodes credentials. `Client` sends them to the server as they are in the address."""

    @staticmethod
    def _parse_server_uri(connect_url: str) -> ParseResult:
        return BusAddress(*Client._parse_server_uri(connect_url))  # noqa: SLF001  (of the base class)
