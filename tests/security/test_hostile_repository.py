"""Every reading command opens a hostile repository: nothing breaks, nothing gets out."""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.command import environment, treadle
from tests.security.hostile_repository import SECRET, make
from treadle.code.files.walk import read_file, walk
from treadle.inside import Folders, read_inside

COMMANDS = (
    ("search", "zebra"),
    ("search", "zebra", "--view", "files"),
    ("search", "zebra", "--json"),
    ("context", "zebra", "--budget", "6000"),
    ("context", "imitation", "--json"),
    ("index", "--report"),
    ("config", "show"),
    ("config", "check"),
    ("checks", "list"),
    ("edits", "list"),
    ("sessions", "list"),
    ("tools", "list"),
    ("doctor",),
)

CALLS = (
    ("list_dir", {}),
    ("list_dir", {"path": "out"}),
    ("list_dir", {"path": "up/."}),
    ("grep", {"pattern": "secret|zebra"}),
    ("grep", {"pattern": "secret", "path": "out"}),
    ("grep", {"pattern": "root:", "path": "absolute.py"}),
    ("code_item_lookup", {"name": "zebra_plain"}),
    *(
        ("read_file", {"path": path})
        for path in (
            "out.py", "out/secret.py", "up/secret.py", "absolute.py", "zero.py", "pipe.py", "loop",
            "self/self/calc.py", "../outside/secret.py", "line.py", "sparse.bin", "new\nline.py",
            "README.md", ".git", "self/out/secret.py",
        )
    ),
    ("get_file_metadata", {"path": "out/secret.py"}),
    ("get_file_metadata", {"path": "zero.py"}),
    ("get_file_metadata", {"path": "pipe.py"}),
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("hostile"))


def harmless(root: Path, out: str, err: str) -> None:
    assert SECRET not in out + err
    assert "root:x:" not in out + err
    assert "Unexpected" not in err, err
    assert "Traceback" not in err, err
    assert not any(
        (character < " " and character not in "\n\t") or character in "\u202e\x7f"
        for character in out + err
    )
    assert not list(root.parent.rglob("pwned"))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_reading_command_survives_a_hostile_repository(
    hostile: Path, command: tuple[str, ...]
) -> None:
    ran = treadle(*command, home=hostile.parent / "home", repo=hostile)
    harmless(hostile, ran.out, ran.err)
    assert ran.status in {0, 1}, ran
    if command[0] == "search" and "--json" not in command:
        lines = ran.out.splitlines()
        assert not any(line.startswith("real.py:1-2") for line in lines)


CALLING = """
import asyncio, json, sys
from pathlib import Path
from treadle.app.application import open_app

async def main():
    async with open_app(Path(sys.argv[1])) as app:
        for name, given in json.load(sys.stdin):
            print(await app.executor.call(name, json.dumps(given)), flush=True)

asyncio.run(main())
"""


def called(root: Path, home: Path, calls: object) -> str:
    """The tools' answers to the calls, all in one process."""
    done = subprocess.run(
        [sys.executable, "-c", CALLING, str(root)],
        input=json.dumps(calls),
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_every_reading_tool_survives_a_hostile_repository(hostile: Path) -> None:
    out = called(hostile, hostile.parent / "home", CALLS)
    assert len(out.splitlines()) == len(CALLS)
    harmless(hostile, out, "")
    assert "ErrorKind.INTERNAL" not in out


def swapping(root: Path, outside: Path) -> tuple[threading.Event, threading.Thread]:
    """Swap the folder `root/swapped` for a link to `outside` and back, until the event is set."""
    ended = threading.Event()
    real, spare, link = root / "swapped", root / ".spare", root / ".link"
    link.symlink_to(outside)

    def swap() -> None:
        while not ended.is_set():
            real.rename(spare)
            link.rename(real)
            real.rename(link)
            spare.rename(real)

    thread = threading.Thread(target=swap)
    thread.start()
    return ended, thread


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    """Reads by path left the root in 885 of 3,000 tries."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder, text in ((root / "swapped", b"inside"), (outside, SECRET.encode())):
        folder.mkdir(parents=True)
        (folder / "a.py").write_bytes(text)
    (outside / "only-outside.py").touch()
    ended, thread = swapping(root, outside)
    read = {b"inside": 0, SECRET.encode(): 0}
    try:
        with Folders(root) as folders:
            for _ in range(3_000):
                with contextlib.suppress(OSError):
                    read[read_file(root, "swapped/a.py")[0] or b""] += 1
                with contextlib.suppress(OSError), folders.read("swapped/a.py") as file:
                    read[file.read()] += 1
            names = {entry.path for _ in range(300) for entry in walk(root)}
    finally:
        ended.set()
        thread.join()
    assert read[SECRET.encode()] == 0
    assert read[b"inside"] > 0
    assert not any("only-outside" in name for name in names)


@pytest.mark.slow
async def test_tools_read_nothing_outside_while_a_folder_is_swapped(tmp_path: Path) -> None:
    root, outside, home = tmp_path / "root", tmp_path / "outside", tmp_path / "home"
    for folder, text in ((root / "swapped", "inside = 1\n"), (outside, f"{SECRET} = 1\n")):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text(text)
    swap = (
        "import os, sys\n"
        "os.chdir(sys.argv[1]); os.symlink(sys.argv[2], '.link')\n"
        "while True:\n"
        "    os.rename('swapped', '.spare'); os.rename('.link', 'swapped')\n"
        "    os.rename('swapped', '.link'); os.rename('.spare', 'swapped')\n"
    )
    program = [sys.executable, "-c", swap, str(root), str(outside)]
    swapper = await asyncio.create_subprocess_exec(*program)
    calls = [
        ("read_file", {"path": "swapped/a.py"}),
        ("grep", {"pattern": "="}),
        ("list_dir", {"path": "swapped"}),
        ("get_file_metadata", {"path": "swapped/a.py"}),
    ]
    try:
        out = await asyncio.to_thread(called, root, home, calls * 100)
    finally:
        swapper.kill()
        await swapper.wait()
    assert "inside = 1" in out
    assert SECRET not in out


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "a//b", "./x", "a/./b"])
def test_a_path_that_is_not_plain_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").touch()
    (tmp_path / "root" / "a").mkdir(parents=True)
    with pytest.raises(OSError, match=r"Not a path below the root|No such file"):
        read_inside(tmp_path / "root", path)


def test_a_deep_path_needs_few_descriptors(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(100):
        folder = folder / "d"
        folder.mkdir()
    (folder / "f").write_text("x")
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    with Folders(tmp_path) as folders:
        for _ in range(2):
            with folders.read("d/" * 100 + "f") as file:
                assert file.read() == b"x"
            assert len(list(opened.iterdir())) < before + 45
        assert [entry.name for entry in folders.entries("d")] == ["d"]
    assert len(list(opened.iterdir())) == before
