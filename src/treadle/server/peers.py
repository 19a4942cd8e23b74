"""Finds the user whose process is at the other end of a loopback connection.

On Linux, `NETLINK_SOCK_DIAG` looks up a socket by its two addresses and returns its user. The
look-up takes microseconds, so it may block the event loop. On other systems the user of a
connection is unknown. The user also counts as unknown if the result is ambiguous.
"""

import os
import socket
import struct
import sys
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple, Self

OWN_PEER = "treadle_own_peer"
"""A key in the `state` of an ASGI scope.

The value is true if a process of this user is at the other end of the connection.
"""

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1

_ESTABLISHED, _FIN_WAIT1, _FIN_WAIT2, _CLOSE_WAIT = 1, 4, 5, 8
_CONNECTED = frozenset({_ESTABLISHED, _FIN_WAIT1, _FIN_WAIT2, _CLOSE_WAIT})
"""The TCP states of a connected socket, from linux/tcp_states.h."""

_HEADER = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
_SOCKET_ID = struct.Struct(
    "=2s2s16s16sI8s"
)  # inet_diag_sockid: ports, addresses, interface, cookie
_REQUEST = struct.Struct("=BBBxI")  # inet_diag_req_v2: family, protocol, extensions, states
_ANSWER = struct.Struct("=BBBB48sIIIII")  # inet_diag_msg: family, state, …, uid, inode
_ANY_COOKIE = b"\xff" * 8
_OVERFLOW_UID = Path("/proc/sys/kernel/overflowuid")


class Address(NamedTuple):
    """The IP address and port of one end of a TCP connection."""

    ip: IPv4Address | IPv6Address
    port: int

    @classmethod
    def of(cls, name: object) -> Self | None:
        """Convert the address tuple of a socket. Return None if it has no IP address."""
        match name:
            case (str() as host, int() as port, *_):
                try:
                    ip = ip_address(host)
                except ValueError:
                    return None
                return cls(getattr(ip, "ipv4_mapped", None) or ip, port)
        return None


class PeerUsers:
    """Decides whether a connection comes from a process of this user. It is not thread-safe."""

    def __init__(self) -> None:
        self._user = _own_user()
        self._netlink = None if self._user is None else _open_netlink()
        self._requests = 0

    def close(self) -> None:
        """Close the netlink socket. Afterwards `is_own` returns False for every connection."""
        if self._netlink is not None:
            self._netlink.close()
            self._netlink = None

    @property
    def works(self) -> bool:
        """Whether the system reports the users of connections. Opens a connection to test it."""
        try:
            with (
                socket.create_server(("127.0.0.1", 0)) as server,
                socket.create_connection(server.getsockname(), timeout=1),
            ):
                accepted, _ = server.accept()
                with accepted:
                    return self.is_own(accepted)
        except OSError:
            return False

    def is_own(self, accepted: socket.socket) -> bool:
        """Whether a process of this user is at the other end of an accepted loopback connection.

        After the look-up, the method checks that `accepted` is still connected. As long as it is
        connected, no other socket can have the peer's address. The look-up has therefore found the
        peer.
        """
        try:
            peer, own = Address.of(accepted.getpeername()), Address.of(accepted.getsockname())
            if peer is None or own is None or not (peer.ip.is_loopback and own.ip.is_loopback):
                return False
            return self._owner(peer, own) == self._user and _is_connected(accepted)
        except OSError:
            return False

    def _owner(self, peer: Address, own: Address) -> int | None:
        """Return the user id of the socket at `peer` that is connected to `own`, or None."""
        if self._netlink is None or self._user is None or peer.ip.version != own.ip.version:
            return None
        self._requests += 1
        expected = (
            peer.port.to_bytes(2, "big"), own.port.to_bytes(2, "big"),
            peer.ip.packed.ljust(16, b"\0"), own.ip.packed.ljust(16, b"\0"),
        )  # fmt: skip
        family = socket.AF_INET if peer.ip.version == 4 else socket.AF_INET6
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0xFFFF_FFFF)
        request += _SOCKET_ID.pack(*expected, 0, _ANY_COOKIE)
        head = (
            _HEADER.size + len(request),
            _SOCK_DIAG_BY_FAMILY,
            _NLM_F_REQUEST,
            self._requests,
            0,
        )
        self._netlink.send(_HEADER.pack(*head) + request)
        while True:
            answer = self._netlink.recv(4096)  # raises BlockingIOError if there is no answer
            _, kind, _, sequence, _ = _HEADER.unpack_from(answer)
            if sequence == self._requests:
                break  # an answer with another number belongs to an earlier, abandoned request
        if kind != _SOCK_DIAG_BY_FAMILY:
            return None  # the socket does not exist
        _, state, _, _, found, _, _, _, uid, inode = _ANSWER.unpack_from(answer, _HEADER.size)
        # If no connected socket exists, the kernel returns a socket that listens on the port.
        if _SOCKET_ID.unpack(found)[:4] != expected or state not in _CONNECTED:
            return None
        # A socket that was closed by its process has no inode, and the kernel reports root as its
        # user.
        return int(uid) if inode else None


def _own_user() -> int | None:
    """Return the id of this user, or None if the system cannot distinguish users.

    The kernel reports users of other namespaces with the overflow id. A user with that id is
    therefore ambiguous.
    """
    if sys.platform != "linux":
        return None
    try:
        overflow = int(_OVERFLOW_UID.read_text())
    except (OSError, ValueError):
        return None
    return None if os.geteuid() == overflow else os.geteuid()


def _open_netlink() -> socket.socket | None:
    try:
        opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    except OSError:
        return None
    try:
        opened.setblocking(False)
        opened.connect((0, 0))  # the peer is always the kernel
    except OSError:
        opened.close()
        return None
    return opened


def _is_connected(accepted: socket.socket) -> bool:
    information = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    return information[0] in {_ESTABLISHED, _CLOSE_WAIT}
