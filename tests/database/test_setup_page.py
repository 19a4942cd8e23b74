"""The statements of docs/postgresql.md that set up a role and a database."""

import re
from pathlib import Path
from uuid import uuid4

import psycopg

from tests.database.notes import NOTES, add, texts
from tests.engines import PostgresServer
from treadle.app.stores import Stores
from treadle.database import open_database

PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"


def test_statements_of_the_page_set_up_a_role_and_a_database(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    name = f"t{uuid4().hex}"
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 2
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        for statement in "".join(blocks).split(";\n"):
            if statement.strip():
                connection.execute(re.sub(r"\btreadle\b", name, statement))
    stores = Stores(tmp_path, postgres.url(name, user=name))
    with open_database(stores.ui, NOTES) as database:
        add(database, "one")
        assert texts(database) == ["one"]
        assert database.exposure() is None
