"""Queries beyond the store's limit are refused as queries, not as failures of the store."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.server.serving import serving
from treadle.traces.query.language import MAX_VALUES

UNITS = ("a ", "or model:a ", "not a ", "-label:x ", "model:a ", "cost>1 ", '"a b" ')


@pytest.mark.slow
async def test_a_query_of_any_length_is_answered_or_refused(repo: Path) -> None:
    async with serving(repo) as served:
        for unit in UNITS:
            most = MAX_VALUES // (2 if unit.startswith(("or ", "not ")) else 1)
            for query, expected in (
                (unit * most, 200),
                (unit * (MAX_VALUES + 1), 422),
                (unit * 1_500, 422),
                ("model:" + ",".join(["a"] * MAX_VALUES), 200),
                ("model:" + ",".join(["a"] * 3_000), 422),
            ):
                answer = await served.http.get(f"/api/v1/spans?query={quote(query)}")
                assert answer.status_code == expected, (
                    unit,
                    len(query),
                    answer.text[:300],
                )
                assert answer.is_success or "values" in answer.json()["error"]["message"]
