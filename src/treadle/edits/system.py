"""The calls to the operating system by which files are read and written, so that tests fail each.

A name is that of an entry of the folder that is open as `folder`; no call follows a link there.
"""

import errno
import os
import signal
import time
from functools import cache
from typing import TYPE_CHECKING

from treadle.inside import open_file, open_folder, open_root

if TYPE_CHECKING:
    from ctypes import _NamedFuncPointer

_NO_REPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = frozenset({
    errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM,
})  # fmt: skip
_CLOSE = getattr(os, "O_CLOEXEC", 0)
_STRAIGHT = getattr(os, "O_NOFOLLOW", 0) | _CLOSE


class System:
    """The machine itself. Every method raises OSError, and does nothing when it does."""

    def open_root(self, path: str) -> int:
        return open_root(path)

    def open_folder(self, folder: int, name: str) -> int:
        return open_folder(folder, name)

    def open_file(self, folder: int, name: str) -> int:
        """For reading; does not wait on a pipe."""
        return open_file(folder, name)

    def create_file(self, folder: int, name: str, mode: int) -> int:
        """A new file, for writing."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _STRAIGHT
        return os.open(name, flags, mode, dir_fd=folder)

    def close(self, file: int) -> None:
        os.close(file)

    def read(self, file: int, size: int) -> bytes:
        return os.read(file, size)

    def write(self, file: int, data: memoryview) -> int:
        return os.write(file, data)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def status(self, file: int) -> os.stat_result:
        return os.fstat(file)

    def status_of(self, folder: int, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def may_write(self, folder: int, name: str) -> bool:
        effective = os.access in os.supports_effective_ids
        return os.access(name, os.W_OK, dir_fd=folder, effective_ids=effective)

    def set_mode(self, file: int, mode: int) -> None:
        os.fchmod(file, mode)

    def set_owner(self, file: int, user: int, group: int) -> None:
        os.fchown(file, user, group)

    def attributes(self, file: int) -> dict[str, bytes]:
        """The extended attributes, access lists among them; none where there is no such thing."""
        if not hasattr(os, "listxattr"):
            return {}
        try:
            return {name: os.getxattr(file, name) for name in os.listxattr(file)}
        except OSError as error:
            if error.errno in {errno.ENOTSUP, errno.ENODATA}:
                return {}
            raise

    def set_attribute(self, file: int, name: str, value: bytes) -> None:
        os.setxattr(file, name, value)

    def make_folder(self, folder: int, name: str) -> None:
        os.mkdir(name, dir_fd=folder)

    def remove_folder(self, folder: int, name: str) -> None:
        os.rmdir(name, dir_fd=folder)

    def remove_file(self, folder: int, name: str) -> None:
        os.unlink(name, dir_fd=folder)

    def exchange(self, folder: int, one: str, other: str) -> None:
        """Let two entries change places at once; `other` is there at every moment."""
        if not _rename_with(folder, one, other, _EXCHANGE):
            self.exchange_by_links(folder, one, other)

    def exchange_by_links(self, folder: int, one: str, other: str) -> None:
        """`exchange` where the system has no call for it.

        `other` is there at every moment. What another program puts in its place between the
        first two calls would be lost.
        """
        spare = spare_name(one)
        self.link(folder, other, spare)
        try:
            self.rename(folder, one, other)
        except OSError:
            self.remove_file(folder, spare)
            raise
        self.rename(folder, spare, one)

    def move(self, folder: int, name: str, target: str) -> None:
        """Rename to a name that nothing has. Raises FileExistsError."""
        if not _rename_with(folder, name, target, _NO_REPLACE):
            self.link(folder, name, target)
            self.remove_file(folder, name)

    def link(self, folder: int, name: str, target: str) -> None:
        os.link(name, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def rename(self, folder: int, name: str, target: str) -> None:
        os.rename(name, target, src_dir_fd=folder, dst_dir_fd=folder)

    def is_open_for_writing(self, file: int) -> bool:
        """Whether any program may still write into the file; False where that cannot be told.

        A lease to read is given only when nobody has it open for writing (fcntl(2)); it is given
        back at once.
        """
        import fcntl

        lease = getattr(fcntl, "F_SETLEASE", None)
        if lease is None:
            return False
        try:
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # the usual one would end the process
            fcntl.fcntl(file, lease, fcntl.F_RDLCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
        fcntl.fcntl(file, lease, fcntl.F_UNLCK)
        return False

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


def spare_name(temporary: str) -> str:
    """The third name that an exchange by links needs for a moment."""
    return f"{temporary}-old"


def _rename_with(folder: int, name: str, target: str, flag: int) -> bool:
    """renameat2(2); False where the system, or the file system, does not have it."""
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    if call(folder, os.fsencode(name), folder, os.fsencode(target), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), name, None, target)


@cache
def _renameat2() -> "_NamedFuncPointer | None":
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        function.argtypes = [
            ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
        ]  # fmt: skip
    return function
