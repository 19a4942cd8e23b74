"""Removes the rights of this process before it parses untrusted text.

A fault of a parser written in C can let a file run code of its own. After `confine` that code
cannot write files, and can read only installed software and the named folders (Landlock). The code
cannot start a program, process or connection (seccomp). Both mechanisms are applied as far as the
kernel supports them. The restrictions are permanent.

Sources: https://docs.kernel.org/userspace-api/landlock.html,
https://docs.kernel.org/userspace-api/seccomp_filter.html.
"""

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from struct import pack

from treadle import __file__ as _package

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The numbers of the Landlock system calls, which are the same on every processor."""
_ASK_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_ALL_NET = 0b11
"""The rights to bind a TCP port and to connect to one."""
_ALL_SCOPES = 0b11
"""The rights to send signals to other processes, and to use abstract Unix sockets."""
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_X86_64 = 0xC000003E
_X32 = 0x4000_0000
"""The start of a second range of x86-64 call numbers, whose calls duplicate other calls."""
_REFUSED = {
    "socket": 41, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "io_uring_setup": 425
}  # fmt: skip
_CLONE, _CLONE3 = 56, 435
_NEW_THREAD = 0x10000
"""The flag of `clone` for a new thread. Libraries may start threads, but not processes."""
_SYSTEM_FOLDERS = (
    "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
)  # fmt: skip
"""Folders with the shared libraries that Python and its packages load."""

_applied: list[str] = []


def confine(folders: Iterable[str]) -> None:
    """Restrict this thread, which must be the only one, to the rights that a parser needs.

    The thread may read files below `folders`. Open files stay open.
    """
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError):
        _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    with suppress(OSError):
        if _restrict_files(folders):
            _applied.append("Landlock")
    with suppress(OSError):
        if _refuse_calls():
            _applied.append("seccomp")


def means() -> tuple[str, ...]:
    """Return the mechanisms that confine this process."""
    return tuple(_applied)


def _restrict_files(folders: Iterable[str]) -> bool:
    """Apply Landlock. Returns false if the installed software would become unreadable."""
    if not _self_contained():
        return False
    version = _call("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION)
    rights = (1 << 13 + (version >= 2) + (version >= 3) + (version >= 5)) - 1
    handled = pack(
        "=QQQ", rights, _ALL_NET if version >= 4 else 0, _ALL_SCOPES if version >= 6 else 0
    )
    rules = _call("syscall", _CREATE_RULESET, handled, len(handled), 0)
    try:
        for path in (*_software(), *folders):
            _allow_reading(rules, path)
        _call("syscall", _RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)
    return True


def _allow_reading(rules: int, path: str) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # an import path may not exist
    try:
        rights = _READ_FILE | (_READ_DIR if Path(path).is_dir() else 0)
        _call("syscall", _ADD_RULE, rules, _PATH_BENEATH, pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _software() -> set[str]:
    """Return the paths of Python, its packages, this program and shared libraries."""
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    imports = (path or os.curdir for path in sys.path)
    return {
        *_SYSTEM_FOLDERS, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix,
        str(Path(_package).parent), *imports, *filter(None, libraries),
    }  # fmt: skip


def _self_contained() -> bool:
    """Whether packages are in the folders of `_software`, and are not links to other folders."""
    from importlib.util import find_spec

    found = find_spec("tree_sitter")
    if found is None or found.origin is None:
        return False
    origin = os.path.realpath(found.origin)
    return any(origin.startswith(os.path.realpath(path) + os.sep) for path in _software())


def _refuse_calls() -> bool:
    """Apply seccomp. Returns false on processors other than x86-64, whose call numbers differ."""
    if os.uname().machine != "x86_64" or sys.maxsize < 2**32:
        return False
    import ctypes

    program = b"".join(_instructions())
    kept = ctypes.create_string_buffer(program)  # stays alive until the kernel has copied it
    described = pack("@HP", len(program) // 8, ctypes.addressof(kept))
    _call("prctl", _SET_SECCOMP, _FILTER, described, 0, 0)
    return True


def _instructions() -> Iterator[bytes]:
    """Yield the filter in classic BPF.

    The filter refuses calls that start a program, process or connection. It cannot see the flags of
    `clone3`, so it reports `clone3` as missing. In response, the C library uses `clone`.
    """
    load, equal, at_least, has_bit, result = 0x20, 0x15, 0x35, 0x45, 0x06
    number, processor, first_argument = 0, 4, 16
    allowed = len(_REFUSED) + 8
    failed, missing = allowed + 1, allowed + 2
    steps = [
        (load, processor, 0, 0),
        (equal, _X86_64, 0, failed),
        (load, number, 0, 0),
        (at_least, _X32, failed, 0),
        *((equal, refused, failed, 0) for refused in _REFUSED.values()),
        (equal, _CLONE3, missing, 0),
        (equal, _CLONE, 0, allowed),
        (load, first_argument, 0, 0),
        (has_bit, _NEW_THREAD, allowed, failed),
        (result, 0x7FFF_0000, 0, 0),
        (result, 0x0005_0000 | errno.EPERM, 0, 0),
        (result, 0x0005_0000 | errno.ENOSYS, 0, 0),
    ]
    for at, (code, value, if_so, if_not) in enumerate(steps):
        so, otherwise = (target - at - 1 if target else 0 for target in (if_so, if_not))
        yield pack("@HBBI", code, so, otherwise, value)


def _call(function: str, *arguments: int | bytes | None) -> int:
    """Call a function of the C library that sets errno, and return its result. Raises OSError."""
    import ctypes  # imported late, since it loads slowly and only a parsing process needs it

    called = ctypes.CDLL(None, use_errno=True)[function]
    result = int(
        called(*(ctypes.c_long(each) if isinstance(each, int) else each for each in arguments))
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), function)
    return result
