"""The front end over HTTP, for pages, editors and other programs on this machine."""

from treadle.server.app import create_app
from treadle.server.startup import serve

__all__ = ["create_app", "serve"]
