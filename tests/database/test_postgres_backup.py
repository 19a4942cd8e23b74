"""Backups of PostgreSQL with its own programs, as docs/many-machines.md describes them."""

import subprocess
from pathlib import Path
from uuid import uuid4

from psycopg.conninfo import make_conninfo

from tests.database.notes import NOTES, add, texts
from tests.engines import POSTGRES_PROGRAMS, PostgresServer
from treadle.app.stores import Stores
from treadle.database import open_database


def run(program: str, *arguments: str) -> None:
    subprocess.run([POSTGRES_PROGRAMS / program, *arguments], check=True, timeout=60)


def as_administrator(url: str) -> str:
    return make_conninfo(url, user="postgres")


def test_restored_dump_has_the_same_records_and_policies(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    project = f"p{uuid4().hex[:20]}"
    stores = Stores(tmp_path / "data", postgres_url, project)
    with open_database(stores.ui, NOTES) as database:
        for number in range(100):
            add(database, f"note {number}")
        before = texts(database)
    dump, target = str(tmp_path / "treadle.dump"), postgres.new_database()
    # The row-level policies apply to the user of Treadle, so an administrator makes the dump.
    run("pg_dump", "--format=custom", f"--schema=treadle_{project}_*", "--schema=treadle",
        f"--file={dump}", as_administrator(postgres_url))  # fmt: skip
    run("pg_restore", "--exit-on-error", f"--dbname={as_administrator(target)}", dump)
    restored = Stores(tmp_path / "other", target, project)
    with open_database(restored.ui, NOTES) as database:
        assert texts(database) == before
        assert database.examine() is None  # each table has its row-level policy
        add(database, "new")
        assert texts(database)[-1] == "new"
