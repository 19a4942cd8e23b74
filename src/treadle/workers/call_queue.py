"""The work queue of calls and the bucket of their states, in JetStream.

The stream delivers a call at least once, so several workers may receive it. The bucket ensures that
a call has only one outcome. A worker stores itself as the owner of a call before it runs the call,
and every write names the revision that it replaces. JetStream therefore accepts one owner of a
delivery, and one outcome.
"""

from typing import TYPE_CHECKING

import nats.errors
import nats.js.errors
from nats.js.api import (
    ConsumerConfig,
    DiscardPolicy,
    Header,
    KeyValueConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)

from treadle.json_records import JsonMismatchError
from treadle.nats.connection import NatsConnection, answered
from treadle.nats.names import ProjectNames
from treadle.nats.streams import create_at_start, ensure_bucket, ensure_stream
from treadle.workers.messages import CallState, Offer, WorkerCall, decode, encode
from treadle.workers.timing import Timing

if TYPE_CHECKING:
    from nats.js import JetStreamContext
    from nats.js.kv import KeyValue

NATS_ERRORS = (nats.errors.Error, OSError, TimeoutError)
"""The errors of a request to NATS. A caller may repeat the request."""

_FULL = 10077
"""The error code of JetStream for a stream that already has its maximum number of messages."""

_MAX_CALLS = 10_000
_CONSUMER_KEPT = 3_600.0
"""JetStream removes the consumer of a commit when no worker used it for this many seconds."""

_ENVELOPE_BYTES = 4_096
"""The part of a message that is reserved for its headers."""


class CallQueue:
    """The calls of one project. Servers publish calls, and workers take them."""

    def __init__(
        self, connection: NatsConnection, names: ProjectNames, timing: Timing | None = None
    ) -> None:
        self._connection = connection
        self._names = names
        self.timing = timing or Timing()
        self._stream = names.stream("calls")
        self._bucket_name = names.stream("call_states")
        self._bucket: KeyValue | None = None

    @property
    def max_bytes(self) -> int:
        """The maximum size of a message in bytes."""
        return int(self._connection.client.max_payload) - _ENVELOPE_BYTES

    async def open(self) -> None:
        """Create the stream and the bucket, or adapt them to this version. Raises BusError."""
        await create_at_start(self._connection, self._create)

    async def _create(self) -> None:
        stream = StreamConfig(
            name=self._stream,
            subjects=[self._names.subject("calls", ">")],
            retention=RetentionPolicy.WORK_QUEUE,
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            max_msgs=_MAX_CALLS,
            max_age=self.timing.call_kept,
            duplicate_window=min(120.0, self.timing.call_kept),
        )
        await ensure_stream(self._connection, stream)
        bucket = KeyValueConfig(
            bucket=self._bucket_name,
            storage=StorageType.FILE,
            ttl=self.timing.outcome_kept,
            direct=False,  # a direct read of a cluster may return an old state
        )
        self._bucket = await ensure_bucket(self._connection, bucket)

    async def publish(self, call: WorkerCall) -> None:
        """Store a call in the stream. JetStream drops a second message with the same id.

        Raises NATS errors.
        """
        subject = self._names.subject("calls", call.repository, call.commit)
        headers = {Header.MSG_ID.value: call.id}
        try:
            await answered(self._jetstream.publish(subject, encode(call), headers=headers))
        except nats.js.errors.NoStreamResponseError:
            await self._create()  # NATS may have lost its stream with its data folder
            await answered(self._jetstream.publish(subject, encode(call), headers=headers))

    async def find_offer(self, repository: str, commit: str) -> Offer | None:
        """Return the offer of one worker with the commit, or None if no worker answers."""
        subject = self._names.subject("offers", repository, commit)
        try:
            answer = await answered(
                self._connection.client.request(subject, timeout=self.timing.find)
            )
            return decode(Offer, answer.data)
        except (*NATS_ERRORS, JsonMismatchError, ValueError):
            return None

    async def pull(self, repository: str, commit: str) -> "JetStreamContext.PullSubscription":
        """Subscribe to the calls for a commit. All workers with this commit share one consumer.

        Raises NATS errors.
        """
        consumer = f"{repository}_{commit}"
        config = ConsumerConfig(
            name=consumer,
            durable_name=consumer,
            filter_subject=self._names.subject("calls", repository, commit),
            ack_wait=self.timing.ack_wait,
            max_deliver=-1,
            max_ack_pending=_MAX_CALLS,
            inactive_threshold=_CONSUMER_KEPT,
        )
        try:
            await answered(self._jetstream.add_consumer(self._stream, config))
        except nats.js.errors.NotFoundError:
            await self._create()
            await answered(self._jetstream.add_consumer(self._stream, config))
        return await self._jetstream.pull_subscribe_bind(consumer, self._stream)

    async def state(self, call_id: str) -> tuple[CallState, int] | None:
        """Return the state of a call and its revision, or None if no worker took the call.

        Raises NATS errors.
        """
        try:
            entry = await answered(self._states.get(call_id))
        except nats.js.errors.KeyNotFoundError:
            return None
        assert entry.revision is not None
        return decode(CallState, entry.value), entry.revision

    async def store(self, call_id: str, state: CallState, revision: int = 0) -> int | None:
        """Store the state of a call in place of the given revision, and return the new revision.

        Revision 0 means that no state exists. Returns None if another process stored a state
        meanwhile. Raises NATS errors.
        """
        try:
            return await answered(self._states.update(call_id, encode(state), last=revision))
        except nats.js.errors.KeyWrongLastSequenceError:
            return None

    @property
    def _jetstream(self) -> "JetStreamContext":
        return self._connection.jetstream

    @property
    def _states(self) -> "KeyValue":
        assert self._bucket is not None, "call `open` first"
        return self._bucket


def is_full(error: Exception) -> bool:
    """Whether JetStream refused a call because the queue is full."""
    return isinstance(error, nats.js.errors.APIError) and error.err_code == _FULL
