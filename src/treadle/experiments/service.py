"""Creates, changes, runs, compares, scores and exports experiments."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from treadle.clock import Clock, SystemClock
from treadle.errors import NotFoundError, UsageError
from treadle.experiments.answers import ExportedBatch, ExportedExperiment
from treadle.experiments.caller import Caller, CallRequest
from treadle.experiments.comparison import Comparison, compare
from treadle.experiments.judge import CRITERIA, Judge
from treadle.experiments.model import (
    CURRENT,
    ORIGINAL,
    Batch,
    BatchState,
    Budget,
    Experiment,
    Item,
    ListedExperiment,
    Plan,
    Progress,
    Version,
    base_number,
    named_variant,
    with_models,
)
from treadle.experiments.recorded_calls import (
    NotRunnableError,
    RecordedCalls,
    find_call,
    outcome_of,
    request_of,
)
from treadle.experiments.requests import Problem, body_of, problems_of, same_requests
from treadle.experiments.runner import Runner
from treadle.experiments.store import ExperimentStore
from treadle.ids import IdSource, new_id
from treadle.json_values import JsonField
from treadle.secrets import redact
from treadle.spans.span import Span
from treadle.traces.own_spans import without_own
from treadle.traces.query import Query

MAX_REPEATS = 100
MAX_RUNS = 10_000
MAX_ITEMS = 500

_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Runnable:
    """Whether a recorded call can run again, and a sentence with the reason.

    `readable` states whether its span has a valid chat request, which an experiment needs. `here`
    states whether the unchanged request can run now, with the providers that are configured.
    """

    readable: bool
    here: Annotated[bool, JsonField("runnable")]
    reason: str


class InvalidRequestError(UsageError):
    """Raised for a change that would make a request invalid. `problems` contains the errors."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        more = f" There are {len(problems) - 1} further problems." if len(problems) > 1 else ""
        super().__init__(f"{first.field}: {first.message}{more}", hint="Nothing was changed.")
        self.problems = tuple(problems)


def _ignore(_progress: Progress) -> None:
    """Do nothing with the progress."""


class Experiments:
    """The experiments of a user. Methods without `async` block, so call them in a thread."""

    def __init__(
        self,
        store: ExperimentStore,
        traces: RecordedCalls,
        caller: Caller,
        *,
        clock: Clock | None = None,
        ids: IdSource = new_id,
        is_scoped: bool = False,
    ) -> None:
        """Create the service.

        If `is_scoped` is True, an experiment is hidden if one of its calls is not in `traces`.
        """
        self._store = store
        self._traces = traces
        self._is_scoped = is_scoped
        self._caller = caller
        self._clock = clock or SystemClock()
        self._ids = ids
        self._runner = Runner(store, caller, self._clock)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change of an experiment, in the thread that made it."""
        self._store.on_change(listener)

    def among(self, traces: RecordedCalls) -> "Experiments":
        """The experiments for a user who may read only `traces`.

        An experiment is hidden if one of its calls is not in `traces`.
        """
        return Experiments(
            self._store, traces, self._caller, clock=self._clock, ids=self._ids, is_scoped=True
        )

    @property
    def traces(self) -> RecordedCalls:
        """The recorded spans from which experiments are created."""
        return self._traces

    # ---- creation and changes

    def from_spans(self, references: Iterable[str], *, name: str = "") -> Experiment:
        """Create an experiment with recorded calls. `find_call` finds the call of each reference.

        Raises NotFoundError, and NotRunnableError for a span without a chat request.
        """
        return self._create([find_call(self._traces, each) for each in references], name)

    def for_span(self, reference: str) -> Experiment:
        """The newest experiment whose only call is the referenced one.

        If there is none, create it.
        """
        found = self.draft_for_span(reference)
        return found if found.id else self._create([find_call(self._traces, reference)], "")

    def draft_for_span(self, reference: str) -> Experiment:
        """The newest experiment whose only call is the referenced one.

        If there is none, the result is an unsaved experiment without an id.
        """
        span = find_call(self._traces, reference)
        known = self._store.of_span(span.trace_id, span.span_id)
        return self.get(known) if known is not None else self._new([span], "", "")

    def from_query(self, query: Query, *, limit: int, name: str = "") -> Experiment:
        """Create an experiment with the newest `limit` calls that match a query."""
        if not 1 <= limit <= MAX_ITEMS:
            raise UsageError(f"A data set has 1 to {MAX_ITEMS} calls.")
        found = self._traces.spans(without_own(query), limit=limit)
        spans = [
            span
            for listed in found.data
            if (span := self._traces.span(listed.trace_id, listed.span_id)) is not None
        ]
        if not spans:
            raise NotFoundError(
                "No recorded call matches.", hint="Search for model calls with kind:model."
            )
        return self._create(spans, name)

    async def runnable(self, reference: str) -> Runnable:
        """Whether the referenced call can run again on this machine, and the reason."""
        try:
            span = await asyncio.to_thread(find_call, self._traces, reference)
            request, notes = await asyncio.to_thread(request_of, span)
        except (NotRunnableError, NotFoundError, UsageError) as error:
            return Runnable(readable=False, here=False, reason=error.message)
        call = CallRequest(body_of(request), thread_id="", run_id="")
        refusal = await self._caller.refusal(call)
        if refusal is not None:
            reason = f"The chat request is readable, but cannot run here: {refusal}"
            return Runnable(readable=True, here=False, reason=reason)
        count = len(request["messages"])
        found = (
            f"A chat request of {count} message{'s' if count > 1 else ''} that can be run again."
        )
        return Runnable(readable=True, here=True, reason=" ".join([found, *notes]))

    def get(self, reference: str) -> Experiment:
        """The experiment with the id `reference`, a unique prefix of an id, or `last`.

        Raises NotFoundError, and UsageError for an ambiguous prefix.
        """
        found = self._store.experiment(reference)
        if self._is_scoped and not self._may_read(found):
            raise NotFoundError(f"This repository has no experiment {reference[:100]!r}.")
        return found

    def list_experiments(
        self, *, limit: int = 50, offset: int = 0
    ) -> tuple[list[ListedExperiment], int]:
        """A page of the experiments, most recently changed first, and their total number."""
        if self._is_scoped:
            every, _ = self._store.list_experiments(limit=sys.maxsize, offset=0)
            own = [each for each in every if self._may_read(self._store.experiment(each.id))]
            found, total = own[offset : offset + limit], len(own)
        else:
            found, total = self._store.list_experiments(limit=limit, offset=offset)
        return [self._with_current_state(each) for each in found], total

    def check(self, reference: str, patch: Mapping[str, Any]) -> tuple[Problem, ...]:
        """The errors that the requests would have after the change `patch`. Nothing is stored."""
        changed = self._changed(self.get(reference), patch, "")
        return problems_of(changed, changed.current)

    def edit(self, reference: str, patch: Mapping[str, Any], *, note: str = "") -> Experiment:
        """Add a version that applies the merge patch `patch` to the newest version.

        If the patch changes no request, no version is added. Raises InvalidRequestError if a
        request would be invalid.
        """
        experiment = self.get(reference)
        changed = self._changed(experiment, patch, note)
        found = problems_of(changed, changed.current)
        if found:
            raise InvalidRequestError(found)
        if same_requests(changed, changed.current, experiment.current):
            return experiment
        self._store.add_version(experiment.id, changed.versions[-1])
        return self.get(experiment.id)

    def delete(self, reference: str) -> None:
        """Delete an experiment with all its runs. The recorded spans stay.

        Raises UsageError while a batch of the experiment runs.
        """
        experiment = self.get(reference)
        running = [b for b in self.batches(experiment.id) if b.state is BatchState.RUNNING]
        if running:
            raise UsageError("The experiment is running.", hint="Cancel it first.")
        self._store.delete(experiment.id)

    # ---- batches

    def plan(
        self,
        reference: str,
        *,
        repeats: int = 5,
        variants: Sequence[str] = (),
        models: Sequence[str] = (),
        budget: Budget | None = None,
        at_once: int = 1,
        seconds_each: float = 60.0,
    ) -> Batch:
        """Create a batch without starting it.

        `variants` are names such as `original`, `current` or `v2`, each optionally with `@MODEL`.
        The default is the original and the newest version. A variant without a model runs with each
        of `models`. Raises UsageError for an unknown variant and for too many runs. Raises
        InvalidRequestError for a version that cannot run.
        """
        experiment = self.get(reference)
        names = variants or ([ORIGINAL, CURRENT] if experiment.current else [ORIGINAL])
        chosen = [
            each
            for name in names
            for each in with_models(named_variant(name, experiment.current), models)
        ]
        plan = Plan(
            variants=tuple(dict.fromkeys(chosen)),
            repeats=repeats,
            budget=budget or Budget(),
            at_once=at_once,
            seconds_each=seconds_each,
        )
        batch = Batch(
            id=str(self._ids()),
            experiment_id=experiment.id,
            created_us=self._clock.now_us(),
            plan=plan,
            state=BatchState.INTERRUPTED,
            outcomes={},
            items=len(experiment.items),
        )
        if not 1 <= repeats <= MAX_REPEATS or batch.total > MAX_RUNS:
            raise UsageError(
                f"The batch would have {batch.total:,} runs.",
                hint=f"Repeat 1 to {MAX_REPEATS} times, with at most {MAX_RUNS:,} runs in total.",
            )
        for version in sorted({variant.version for variant in plan.variants}):
            found = problems_of(experiment, version)
            if found:
                raise InvalidRequestError(found)
        self._store.add_batch(batch)
        return batch

    async def run_batch(
        self,
        batch_id: str,
        progress: Callable[[Progress], None] = _ignore,
        *,
        budget: Budget | None = None,
        retry_failed: bool = False,
    ) -> Batch:
        """Start or resume a batch.

        Only runs without an outcome are made. If `retry_failed` is True, failed runs are repeated
        as well. If `budget` is not None, it replaces the budget of the batch. Cancelling this call
        cancels the batch. Completed runs stay stored. Raises UsageError if the batch is running
        already.
        """
        batch = await asyncio.to_thread(self.batch, batch_id)
        experiment = await asyncio.to_thread(self.get, batch.experiment_id)
        if budget is not None:
            batch = replace(batch, plan=replace(batch.plan, budget=budget))
            await asyncio.to_thread(self._store.set_plan, batch.id, batch.plan)
        failed = [cell for cell, outcome in batch.outcomes.items() if outcome.error is not None]
        await self._runner.run(experiment, batch, progress, again=failed if retry_failed else ())
        return await asyncio.to_thread(self.batch, batch.id)

    def cancel(self, reference: str) -> Batch:
        """Request the cancellation of a batch. The batch stops within a second.

        Raises NotFoundError if there is no such batch.
        """
        batch = self.batch(reference)
        if batch.state is BatchState.RUNNING:
            self._store.ask_to_cancel(batch.id)
        return batch

    def batch(self, reference: str) -> Batch:
        """The batch with the id `reference`, a unique prefix of an id, or `last`.

        The batch has the state `interrupted` if the process that ran it ended early. Raises
        NotFoundError, and UsageError for an ambiguous prefix.
        """
        found = self._store.batch(reference)
        if self._is_scoped:
            self.get(found.experiment_id)  # raises NotFoundError if the user may not read it
        return self._batch_with_current_state(found)

    def batches(self, experiment_id: str) -> tuple[Batch, ...]:
        """The batches of an experiment, oldest first."""
        if self._is_scoped and experiment_id:  # a draft has no id, and no batches
            self.get(experiment_id)
        return tuple(map(self._batch_with_current_state, self._store.batches(experiment_id)))

    # ---- comparisons

    def compare(self, batch_id: str, *, base: str | None = None) -> Comparison:
        """Compare the variants of a batch with the variant `base`, or with the `recorded` calls.

        By default, a batch with a single variant is compared with the recorded calls. With several
        variants, the default base is the original, or the first variant if the original was not
        run. Raises UsageError for an unknown variant.
        """
        batch = self.batch(batch_id)
        experiment = self.get(batch.experiment_id)
        judgements = self._store.judgements(batch.id)
        return compare(experiment, batch, judgements, base=base_number(batch, base))

    async def judge(
        self,
        batch_id: str,
        model: str,
        *,
        criteria: str = CRITERIA,
        base: str | None = None,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Comparison:
        """Let a model compare outputs with those of the base, and return the comparison.

        The model sees each pair of outputs in both orders. Raises UsageError if the base was not
        run, and JudgeError if a call of the model fails.
        """
        batch = await asyncio.to_thread(self.batch, batch_id)
        number = base_number(batch, base)
        if number is None:
            raise UsageError(
                "There is no baseline to compare with: the batch has one variant.",
                hint="Run the original in the same batch.",
            )
        experiment = await asyncio.to_thread(self.get, batch.experiment_id)
        judge = Judge(self._store, self._caller, model, criteria)
        await judge.judge(experiment, batch, number, progress)
        return await asyncio.to_thread(self.compare, batch.id, base=base)

    def export(self, reference: str) -> ExportedExperiment:
        """An experiment with its calls, its batches, their runs, scores and comparisons."""
        experiment = self.get(reference)
        batches = [
            ExportedBatch.of(batch, self._store.judgements(batch.id), self.compare(batch.id))
            for batch in self.batches(experiment.id)
        ]
        return ExportedExperiment.of(experiment, batches)

    def _may_read(self, experiment: Experiment) -> bool:
        return all(self._traces.span(each.trace_id, each.span_id) for each in experiment.items)

    def _create(self, spans: Sequence[Span], name: str) -> Experiment:
        experiment = self._new(spans, name, str(self._ids()))
        self._store.create(experiment)
        return experiment

    def _new(self, spans: Sequence[Span], name: str, identity: str) -> Experiment:
        """An unsaved experiment with the calls of these spans."""
        if not spans:
            raise UsageError("An experiment needs a recorded call.", hint="Name a span.")
        if len(spans) > MAX_ITEMS:
            raise UsageError(f"A data set has at most {MAX_ITEMS} calls.")
        now_us = self._clock.now_us()
        items = tuple(_item(number, span) for number, span in enumerate(spans))
        return Experiment(
            id=identity,
            name=redact(name.strip()) or _name(items),
            created_us=now_us,
            updated_us=now_us,
            items=items,
        )

    def _changed(self, experiment: Experiment, patch: Mapping[str, Any], note: str) -> Experiment:
        version = Version(
            number=experiment.current + 1,
            at_us=self._clock.now_us(),
            patch=json.loads(redact(json.dumps(patch))),
            note=redact(note),
        )
        return replace(experiment, versions=(*experiment.versions, version))

    def _batch_with_current_state(self, batch: Batch) -> Batch:
        if batch.state is BatchState.RUNNING and not self._store.is_running(batch.id):
            # The batch may have finished since it was read.
            batch = self._store.batch(batch.id)
            if batch.state is BatchState.RUNNING:
                return replace(
                    batch,
                    state=BatchState.INTERRUPTED,
                    reason="The program that ran it ended early.",
                )
        return batch

    def _with_current_state(self, listed: ListedExperiment) -> ListedExperiment:
        last = listed.last_batch
        if last is None or last.state is not BatchState.RUNNING:
            return listed
        return replace(listed, last_batch=replace(last, state=self.batch(last.id).state))


def _item(number: int, span: Span) -> Item:
    request, notes = request_of(span)
    recorded = outcome_of([span])
    assert recorded is not None  # the span is a model call
    return Item(
        number=number,
        trace_id=span.trace_id,
        span_id=span.span_id,
        request=request,
        recorded=recorded,
        notes=notes,
    )


def _name(items: Sequence[Item]) -> str:
    """The default name: the model and the beginning of the last user message."""
    said = next(
        (
            message["content"]
            for message in reversed(items[0].request["messages"])
            if message.get("role") == "user" and isinstance(message.get("content"), str)
        ),
        "",
    )
    text = " ".join(said.split())
    text = text if len(text) <= _NAME_CHARACTERS else f"{text[:_NAME_CHARACTERS]}…"
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return f"{items[0].request['model']}: {text}{more}" if text else items[0].request["model"]
