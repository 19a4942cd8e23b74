"""The program that tests start for `treadle`: it lets `fork_server` run the command.

It passes on its streams, arguments, environment and folder, forwards signals, and ends as the
command ends. It runs without `site` and imports little, so it starts in 15 ms.
"""

import marshal
import os
import signal
import socket
import sys
from contextlib import suppress

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def run(address: str, words: list[str]) -> int:
    """Have the server at `address` run the command, and return its exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    leads = os.getsid(0) == os.getpid() and os.isatty(0)  # a terminal was made for the command
    folder = os.getcwd()  # noqa: PTH109  (pathlib takes as long to load as all the rest)
    request = marshal.dumps((words, dict(os.environ), folder, ignored, leads))
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [len(request).to_bytes(4)], [0, 1, 2])
        server.sendall(request)
        pid = int.from_bytes(server.recv(4))
        for stream in (0, 1, 2):  # the command has them; readers wait for the last one to close
            os.close(stream)

        def forward(received: int, _frame: object) -> None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, received)

        for number in FORWARDED:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        status = os.waitstatus_to_exitcode(int.from_bytes(server.recv(4)))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    os._exit(run(sys.argv[1], sys.argv[2:]))
