"""The smallest installation runs an experiment with the embedded model behind the gateway."""

from pathlib import Path

import pytest

from tests.experiments.world import world
from tests.gateway.running import running
from treadle.config.model import Settings
from treadle.experiments.model import BatchState
from treadle.llm.embedded import MODEL_NAME, missing_parts

needs_the_model = pytest.mark.skipif(bool(missing_parts()), reason="no embedded model installed")
MESSAGES = [{"role": "user", "content": "Name a colour."}]


@needs_the_model
@pytest.mark.model
@pytest.mark.timeout(600)  # the small model takes minutes on a busy machine
async def test_embedded_model_runs_an_experiment(tmp_path: Path) -> None:
    model = f"embedded/{MODEL_NAME}"
    async with world(tmp_path) as w:
        experiment = await w.experiment(
            model=model, messages=MESSAGES, max_tokens=12, temperature=0
        )
        w.experiments.edit(experiment.id, {"parameters": {"max_tokens": 4}})
        planned = w.experiments.plan(experiment.id, repeats=1, seconds_each=300)
        batch = await w.experiments.run_batch(planned.id)
        (compared,) = w.experiments.compare(batch.id).variants
    assert batch.state is BatchState.FINISHED
    assert [each.error for each in batch.outcomes.values()] == [None, None]
    assert compared.output_tokens.base is not None
    assert compared.output_tokens.base <= 12
    assert compared.output_tokens.new == 4
    assert compared.cost.n == 0  # the cost is unknown, not 0
    assert compared.model == MODEL_NAME


async def test_installed_embedded_model_is_listed(tmp_path: Path) -> None:
    async with running(tmp_path, Settings()) as gateway:
        listed = (await gateway.http.get("/models")).json()["data"]
    expected = [] if missing_parts() else [f"embedded/{MODEL_NAME}"]
    assert [entry["id"] for entry in listed] == expected
