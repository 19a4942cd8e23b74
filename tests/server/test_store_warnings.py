"""`treadle serve` reports at its start which data it cannot record."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.command import ended, start


async def test_a_store_of_a_newer_version_is_reported_at_the_start(repo: Path) -> None:
    data = repo.parent / "home" / "data"
    data.mkdir(parents=True, mode=0o700)
    with closing(sqlite3.connect(data / "traces.db")) as store:
        store.execute("PRAGMA user_version = 1000")
    (data / "traces.db").chmod(0o600)
    process = await start("serve", "--port", "0", "--json", home=repo.parent / "home", repo=repo)
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), 60)
    process.send_signal(signal.SIGINT)
    ran = await ended(process)
    assert ran.status == 0
    assert ran.err.startswith("! ")
    assert "newer version of Treadle" in ran.err
