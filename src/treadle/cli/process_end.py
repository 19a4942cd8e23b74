"""The end of the process: flushes standard output, and does not wait for threads."""

import os
import sys
import threading


def settle_output() -> None:
    """Flush standard output, and prevent an error at the interpreter's exit if it is closed."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave(status: int) -> int:
    """Exit at once if another thread is still running, otherwise return `status`.

    The embedded model can only stop between two tokens, so its thread may run on. The command has
    already closed all stores.
    """
    if threading.active_count() > 1:
        settle_output()
        os._exit(status)
    return status
