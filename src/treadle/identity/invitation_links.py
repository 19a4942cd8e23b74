"""The links of invitations."""


def invitation_link(address: str, secret: str) -> str:
    """Return the link of an invitation at the address of a server.

    The secret follows `#`, so a browser does not send it in the address of a request, and no proxy
    logs it.
    """
    return f"{address}/sign-in#invitation={secret}"
