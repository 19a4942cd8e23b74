"""Holds calls at breakpoints until a person lets them continue, edits them or refuses them.

Breakpoints survive a restart of the server. Held calls do not, since their clients lose the
connection. They get the state `lost` after the restart. If the store cannot be written, a
breakpoint exists only in memory until the store works again or the process ends.

Several servers may share the store. `refresh` reads what the others changed. A call waits at one
server, and only this server has its body with secrets.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from treadle.clock import Clock, wait_within
from treadle.config.gateway import GatewayBreakpoints
from treadle.config.quantities import age_us
from treadle.database import StoreAddress
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.gateway.breakpoint_store import KEPT, Breakpoint, BreakpointStore, Held, HeldState
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import Body, CallRequest, without_key
from treadle.gateway.routing import matches
from treadle.ids import IdSource, new_id
from treadle.secrets import redact

_GRACE_US = 10_000_000
"""The time in microseconds that a server has to store that the time limit of a call has passed."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a held call.

    `content` replaces the body of the call, unless it is None.
    """

    held: Held
    refused: bool = False
    content: bytes | None = None


@dataclass(slots=True)
class _Waiting:
    held: Held
    decided: "asyncio.Future[Decision]" = field(repr=False)


class Breakpoints:
    """Manages breakpoints and holds calls. Use it as a context manager."""

    def __init__(
        self,
        address: StoreAddress,
        settings: GatewayBreakpoints,
        clock: Clock,
        *,
        tell: Callable[[str], None],
        ids: IdSource = new_id,
    ) -> None:
        """Create the object.

        `tell` is called with a sentence for a person, for example when a call begins to wait.
        """
        self._address = address
        self._settings = settings
        self._clock = clock
        self._report = tell
        self._ids = ids
        self._waiting: dict[str, _Waiting] = {}
        self._breakpoints: dict[str, Breakpoint] = {}
        self._remembered: dict[str, Held] = {}
        self._noting: set[asyncio.Future[None]] = set()
        self._unsaved: dict[str, Breakpoint | None] = {}
        """The changed breakpoints that are not stored yet. None stands for a deleted one."""
        self._using_store = asyncio.Lock()
        self.broken: str | None = None
        """The reason why breakpoints are not stored, or None if they are stored."""

    async def __aenter__(self) -> Self:
        self._store: BreakpointStore | None = None
        try:
            self._store = await asyncio.to_thread(BreakpointStore.open, self._address)
            await asyncio.to_thread(self._store.lose_waiting, self._clock.now_us())
            _, unreadable = await asyncio.to_thread(self._store.breakpoints)
        except StoreError as error:
            self.broken = str(error)
            return self
        if unreadable:
            self._report(f"{unreadable} stored breakpoints are not valid and are ignored.")
        await self.refresh()
        return self

    async def refresh(self) -> None:
        """Read the breakpoints and the held calls again, since other servers may change them.

        If the store fails, everything stays as it is, and `broken` has the reason.
        """
        store = self._store
        if store is None:
            return
        async with self._using_store:
            try:
                await self._write_unsaved(store)
                breakpoints, _ = await asyncio.to_thread(store.breakpoints)
                if store.is_shared and self._has_expired():
                    await asyncio.to_thread(store.lose_waiting, self._clock.now_us())
                states = await asyncio.to_thread(store.held_states)
                changed = [each for each, state in states.items() if self._differs(each, state)]
                held = await asyncio.to_thread(store.held, changed) if changed else []
            except StoreError as error:
                self.broken = str(error)
                return
            self._breakpoints = {each.id: each for each in breakpoints}
            self._remembered |= {each.id: each for each in held if each.id not in self._waiting}
            self._remembered = dict(sorted(self._remembered.items()))  # the ids sort by time
            while len(self._remembered) > KEPT and self._forget_oldest():
                pass

    def _differs(self, held_id: str, state: HeldState) -> bool:
        """Whether the stored state of a call is newer than the state in memory."""
        known = self._remembered.get(held_id)
        return known is None or (
            held_id not in self._waiting
            and known.state is HeldState.WAITING
            and state is not HeldState.WAITING
        )

    def _has_expired(self) -> bool:
        """Whether the time limit of a call of another server has passed without a decision."""
        latest = self._clock.now_us() - _GRACE_US
        return any(
            each.state is HeldState.WAITING and each.expires_us < latest
            for each in self._remembered.values()
            if each.id not in self._waiting
        )

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*self._noting)
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
            self._store = None

    def all(self) -> list[Breakpoint]:
        """All breakpoints, the oldest first."""
        return list(self._breakpoints.values())

    async def add(self, **values: Any) -> Breakpoint:
        """Create and store a breakpoint. `values` are its fields."""
        return await self._save_clean(Breakpoint(self._ids().hex, **values))

    async def change(self, breakpoint_id: str, **values: Any) -> Breakpoint:
        """Change the given fields of a breakpoint. Raises NotFoundError if it does not exist."""
        return await self._save_clean(replace(self._breakpoint(breakpoint_id), **values))

    async def _save_clean(self, each: Breakpoint) -> Breakpoint:
        """Store a breakpoint after redacting secrets in its conditions."""
        clean = replace(
            each,
            model=None if each.model is None else redact(each.model),
            thread_id=None if each.thread_id is None else redact(each.thread_id),
            labels=tuple(map(redact, each.labels)),
        )
        return await self._save(clean)

    async def remove(self, breakpoint_id: str) -> None:
        """Delete a breakpoint. The calls that it holds still wait.

        Raises NotFoundError if it does not exist.
        """
        self._breakpoint(breakpoint_id)
        async with self._using_store:
            self._breakpoints.pop(breakpoint_id, None)
            self._unsaved[breakpoint_id] = None
            await self._try_to_write_unsaved()

    def held(self, state: HeldState | None = None) -> list[Held]:
        """The calls that wait or waited, newest first.

        If `state` is not None, calls in other states are left out.
        """
        found = [self._current(held) for held in reversed(self._remembered.values())]
        return [held for held in found if state is None or held.state is state]

    def one_held(self, held_id: str) -> Held:
        """The held call with the id `held_id`. Raises NotFoundError if there is no such call."""
        held = self._remembered.get(held_id)
        if held is None:
            raise NotFoundError(
                f"There is no held call {held_id[:80]!r}.",
                hint="List the held calls at breakpoints/held.",
            )
        return self._current(held)

    def is_waiting(self, held_id: str) -> bool:
        """Whether a call waits at this server."""
        waiting = self._waiting.get(held_id)
        return waiting is not None and not waiting.decided.done()

    async def lose(self, held_id: str) -> None:
        """Note that no server holds a call any more, if its stored state is `waiting`."""
        held = self._remembered.get(held_id)
        if held is None or held.state is not HeldState.WAITING or held_id in self._waiting:
            return
        lost = replace(held, state=HeldState.LOST, decided_us=self._clock.now_us())
        self._remember(lost)
        await self._keep(lambda store: store.save_held(lost))

    async def go_on(self, held_id: str, content: bytes | None = None) -> Held:
        """Let a held call continue. If `content` is not None, it replaces the body of the call.

        Raises UsageError for an invalid body, and for a call that no longer waits. Raises
        NotFoundError for an unknown call.
        """
        if content is not None:
            try:
                await asyncio.to_thread(Body.read, content)
            except RefusalError as error:  # the person's body is wrong, not the client's
                raise UsageError(error.message, hint=error.hint) from error
        state = HeldState.CONTINUED if content is None else HeldState.EDITED
        return self._decide(held_id, state, content=content)

    async def refuse(self, held_id: str, reason: str | None = None) -> Held:
        """Answer a held call with a refusal.

        Raises UsageError for a call that no longer waits, and NotFoundError for an unknown call.
        """
        return self._decide(held_id, HeldState.REFUSED, reason=reason)

    def matching(self, request: CallRequest) -> Breakpoint | None:
        """The first breakpoint that matches a call, or None."""
        if not self._breakpoints:
            return None
        return next((each for each in self._breakpoints.values() if _holds(each, request)), None)

    async def hold(
        self, request: CallRequest, by: Breakpoint, left: Callable[[], bool]
    ) -> Decision:
        """Hold a call until a person decides about it, or its time limit passes.

        The breakpoint `by` determines the limit. If the task is cancelled meanwhile, `left` returns
        whether the reason is that the client has left.
        """
        held = self._begin(request, by)
        clean = await asyncio.to_thread(_without_secrets, held, request.key)
        waiting = _Waiting(held, asyncio.get_running_loop().create_future())
        self._waiting[held.id] = waiting
        self._remember(clean)
        ended = held
        try:
            await self._keep(lambda store: store.save_held(clean))
            self._report(f"A breakpoint holds a call of {clean.model or 'a model'} ({held.id}).")
            decision = await self._decided(waiting)
            ended = decision.held
        except asyncio.CancelledError:
            ended = self._ended(held, HeldState.CANCELLED if left() else HeldState.LOST)
            raise
        finally:
            self._waiting.pop(held.id, None)
            self._note(
                replace(
                    clean,
                    state=ended.state,
                    decided_us=ended.decided_us,
                    reason=None if ended.reason is None else redact(ended.reason),
                )
            )
        return decision

    async def _decided(self, waiting: _Waiting) -> Decision:
        held = waiting.held
        seconds = (held.expires_us - held.at_us) / 1e6
        try:
            return await wait_within(waiting.decided, seconds, self._clock)
        except TimeoutError:
            expired = self._ended(held, HeldState.EXPIRED)
            return Decision(expired, refused=held.on_expiry == "refuse")

    def _begin(self, request: CallRequest, by: Breakpoint) -> Held:
        now = self._clock.now_us()
        limit = by.timeout * 1e6 if by.timeout is not None else age_us(self._settings.timeout)
        context = request.context
        return Held(
            id=self._ids().hex,
            breakpoint_id=by.id,
            state=HeldState.WAITING,
            operation=request.operation.value,
            model=request.named_model or "",
            at_us=now,
            expires_us=now + round(limit),
            on_expiry=by.on_expiry or self._settings.on_expiry,
            trace_id=context.trace_id,
            thread_id=context.thread_id,
            run_id=context.run_id,
            labels=context.labels,
            body=request.body.text,
        )

    def _decide(
        self,
        held_id: str,
        state: HeldState,
        *,
        content: bytes | None = None,
        reason: str | None = None,
    ) -> Held:
        waiting = self._waiting.get(held_id)
        if waiting is None or waiting.decided.done():
            held = self.one_held(held_id)
            raise UsageError(
                f"The call {held_id[:80]!r} is no longer held: its state is {held.state.value}.",
                hint="List the held calls at breakpoints/held?state=waiting.",
            )
        held = replace(self._ended(waiting.held, state), reason=reason)
        refused = state is HeldState.REFUSED
        waiting.decided.set_result(Decision(held, refused=refused, content=content))
        return held

    def _ended(self, held: Held, state: HeldState) -> Held:
        return replace(held, state=state, decided_us=self._clock.now_us())

    def _current(self, held: Held) -> Held:
        """Return the current form of a held call.

        While the call waits, this form includes its secrets. Otherwise it is `held`, in which
        secrets are redacted.
        """
        waiting = self._waiting.get(held.id)
        return held if waiting is None else waiting.held

    def _breakpoint(self, breakpoint_id: str) -> Breakpoint:
        found = self._breakpoints.get(breakpoint_id)
        if found is None:
            raise NotFoundError(
                f"There is no breakpoint {breakpoint_id[:80]!r}.",
                hint="List the breakpoints at breakpoints.",
            )
        return found

    async def _save(self, changed: Breakpoint) -> Breakpoint:
        async with self._using_store:
            self._breakpoints[changed.id] = changed
            self._unsaved[changed.id] = changed
            await self._try_to_write_unsaved()
        return changed

    async def _try_to_write_unsaved(self) -> None:
        if self._store is None:
            return
        try:
            await self._write_unsaved(self._store)
        except StoreError as error:
            self.broken = str(error)

    async def _write_unsaved(self, store: BreakpointStore) -> None:
        """Store the changes that are not stored yet. Raises StoreError."""
        for breakpoint_id, changed in list(self._unsaved.items()):
            if changed is None:
                await asyncio.to_thread(store.delete, breakpoint_id)
            else:
                await asyncio.to_thread(store.save, changed)
            del self._unsaved[breakpoint_id]
            self.broken = None

    def _remember(self, held: Held) -> None:
        """Keep a call in memory, and forget the oldest call that no longer waits."""
        self._remembered[held.id] = held
        if len(self._remembered) > KEPT:
            self._forget_oldest()

    def _forget_oldest(self) -> bool:
        """Forget the oldest call that no longer waits here. Returns False if there is none."""
        ended = (each for each in self._remembered if each not in self._waiting)
        if (oldest := next(ended, None)) is not None:
            del self._remembered[oldest]
        return oldest is not None

    def _note(self, held: Held) -> None:
        """Store the outcome of a call in a separate task.

        Cancelling the current task does not stop that task.
        """
        self._remember(held)
        task = asyncio.ensure_future(self._keep(lambda store: store.save_held(held)))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def _keep(self, write: Callable[[BreakpointStore], None]) -> None:
        store = self._store
        if store is None:
            return
        try:
            await asyncio.to_thread(write, store)
        except StoreError as error:
            self.broken = str(error)


def _holds(each: Breakpoint, request: CallRequest) -> bool:
    model = request.named_model
    return (
        each.enabled
        and (not each.labels or matches(each.labels, request.context.labels))
        and each.thread_id in (None, request.context.thread_id)
        and (each.model is None or (model is not None and matches((each.model,), (model,))))
    )


def _without_secrets(held: Held, key: str | None) -> Held:
    """The held call without secrets and without the client's API key, as it is stored."""

    def clean(text: str) -> str:
        return redact(without_key(text, key))

    return replace(
        held,
        body=clean(held.body),
        model=clean(held.model),
        thread_id=None if held.thread_id is None else clean(held.thread_id),
        run_id=None if held.run_id is None else clean(held.run_id),
        labels=tuple(map(clean, held.labels)),
    )
