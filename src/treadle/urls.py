"""Hides the user names and passwords in URLs, so that errors and logs can show the rest."""

import re

_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*(?=@)")
_PASSWORD = re.compile(r"(?<=[?&])((?:ssl)?password=)[^&#\s]*", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Return `text` with `***` in place of the user name and password of every URL in it.

    Passwords in the parameters of a URL are replaced, too. PostgreSQL allows such parameters.
    """
    return _PASSWORD.sub(r"\1***", _CREDENTIALS.sub("***", text))
