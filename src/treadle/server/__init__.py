"""The HTTP server: it serves a repository to pages, editors and other programs."""

from treadle.server.app import create_app
from treadle.server.startup import serve

__all__ = ["create_app", "serve"]
