"""Keeps received exports in a JetStream stream until a server writes them to the store.

A client gets its response when the stream has the bytes of its request on disk. A `StreamWriter`
takes these bytes from the stream. The size of the stream is limited. A full stream refuses further
requests.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.nats.connection import REQUEST_SECONDS, NatsConnection
from treadle.nats.names import ProjectNames
from treadle.nats.streams import ensure_stream
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import ExportForm, export_decoder
from treadle.spans.raw_span import RawSpan
from treadle.spans.span_batch import SpanBatch
from treadle.spans.span_writer import StoreBusyError

if TYPE_CHECKING:
    from nats.js import JetStreamContext

_log = logging.getLogger(__name__)

TYPE_HEADER = "Content-Type"
RECEIVED_HEADER = "Treadle-Received-Ns"
REASON_HEADER = "Treadle-Reason"
CONSUMER = "writers"
ACK_SECONDS = 15.0
"""JetStream delivers an export again after this time without a message from its writer.

The writer acknowledges the export, or reports that it still writes it.
"""
MOST_UNACKNOWLEDGED = 512
_HEADERS_BYTES = 1_000
_FAILED_SHARE = 10
"""The size limit of the stream divided by this number limits the stream of failed exports."""
_STREAM_FULL = 10077
"""The error code of JetStream for a stream that has reached its limit."""


@dataclass(frozen=True, slots=True)
class StreamState:
    """The number of exports that wait in the stream, and of those that could not be stored."""

    waiting: int
    waiting_bytes: int
    failed: int


class ExportStream:
    """The stream of one project. `open` creates it."""

    def __init__(
        self, connection: NatsConnection, names: ProjectNames, queue: IngestQueue, limit: int
    ) -> None:
        """Create a stream of at most `limit` bytes."""
        self._connection = connection
        self._queue = queue
        self._limit = limit
        self.name = names.stream("exports")
        self.subject = names.subject("exports")
        self._failed_name = names.stream("failed_exports")
        self._failed_subject = names.subject("failed_exports")

    @property
    def jetstream(self) -> "JetStreamContext":
        """The interface to JetStream."""
        return self._connection.jetstream

    async def open(self) -> None:
        """Create the streams and the consumer, or change their limits. Raises `nats` errors."""
        from nats.js.api import (
            AckPolicy,
            ConsumerConfig,
            DiscardPolicy,
            RetentionPolicy,
            StreamConfig,
        )

        await ensure_stream(
            self._connection,
            StreamConfig(
                name=self.name,
                subjects=[self.subject],
                retention=RetentionPolicy.WORK_QUEUE,
                discard=DiscardPolicy.NEW,
                max_bytes=self._limit,
            ),
        )
        await ensure_stream(
            self._connection,
            StreamConfig(
                name=self._failed_name,
                subjects=[self._failed_subject],
                discard=DiscardPolicy.NEW,
                max_bytes=self._limit // _FAILED_SHARE,
            ),
        )
        await self.jetstream.add_consumer(
            self.name,
            ConsumerConfig(
                durable_name=CONSUMER,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=ACK_SECONDS,
                max_deliver=-1,
                max_ack_pending=MOST_UNACKNOWLEDGED,
            ),
        )

    async def accept(
        self, body: bytes, form: ExportForm, received_ns: int
    ) -> SpanBatch[RawSpan] | None:
        """Check an export, and put it into the stream.

        Returns the report for the client, or None if the stream cannot take the export at present.
        The caller then writes the export to the store itself. Raises OtlpError for a malformed
        export, and StoreBusyError if the stream is full.
        """
        if len(body) > self._connection.client.max_payload - _HEADERS_BYTES:
            return None
        batch = await self._queue.check(body, export_decoder(form, received_ns))
        if not batch.spans:
            return batch
        headers = {TYPE_HEADER: form.value, RECEIVED_HEADER: str(received_ns)}
        return batch if await self._put(body, headers) else None

    async def keep_failed(
        self, body: bytes, headers: Mapping[str, str], number: int, reason: str
    ) -> None:
        """Keep an export that cannot be stored, for a person to look at. Raises `nats` errors.

        `number` is the number of the export in the stream.
        """
        kept = {
            **headers,
            REASON_HEADER: json.dumps(reason)[1:-1],  # a header cannot contain line breaks
            "Nats-Msg-Id": f"{self.name}-{number}",  # JetStream ignores a repeated id
        }
        await self.jetstream.publish(self._failed_subject, body, headers=kept)

    async def state(self) -> StreamState:
        """Return the numbers of waiting and failed exports. Raises `nats` errors."""
        waiting = (await self.jetstream.stream_info(self.name)).state
        failed = (await self.jetstream.stream_info(self._failed_name)).state
        return StreamState(waiting.messages, waiting.bytes, failed.messages)

    async def _put(self, body: bytes, headers: dict[str, str]) -> bool:
        """Put an export into the stream. Returns False if NATS does not confirm it.

        An export may be in the stream although NATS does not confirm it. It is then stored twice
        if the caller also stores it. The second time changes nothing.
        """
        from nats.errors import Error
        from nats.js.errors import APIError

        if not self._connection.is_connected:
            return False
        try:
            await self.jetstream.publish(
                self.subject,
                body,
                headers=headers,
                stream=self.name,
                timeout=REQUEST_SECONDS,
            )
        except APIError as error:
            if error.err_code == _STREAM_FULL:
                raise StoreBusyError(
                    "The spans that wait to be stored have reached the limit bus.ingest_limit.",
                    hint="Send them again later.",
                ) from None
            _log.warning("JetStream did not store an export: %s", error)
            return False
        except Error as error:
            _log.warning("JetStream did not store an export: %s", error)
            return False
        return True
