"""Media that a client uploads separately from the span that contains them.

The clients of Langfuse and Traceloop replace an image in a message with a reference, and upload the
image in another request. This module keeps uploads in memory, and puts them back into the spans of
an export. The stored spans are then the same as if the client had sent the images in its messages.
"""

import asyncio
import base64
import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from treadle.errors import UsageError
from treadle.spans.ingest import Decode
from treadle.spans.raw_span import RawSpan
from treadle.spans.span_batch import SpanBatch

KEPT_BYTES = 64_000_000
"""The maximum size of all uploads in memory, or more if one upload may be larger.

The oldest uploads are removed first."""

WAIT_SECONDS = 2.0
"""The maximum time that an export waits for uploads.

The clients of Langfuse send an export and its uploads at the same time.
"""

_MARKS = ("@@@langfuseMedia:", "/v2/images/")
"""Every reference contains one of these texts."""

_REFERENCE = re.compile(
    r"@@@langfuseMedia:type=[^|@]{1,100}\|id=([\w-]{1,64})\|source=\w{1,40}@@@"
    r"|https?://[\w.:\[\]-]{1,260}/v2/images/([\w-]{1,64})\.[\w+-]{1,40}"
)
_AWAITED = re.compile(rb"@@@langfuseMedia:type=[^|@]{1,100}\|id=([\w-]{1,64})\|")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")


@dataclass(frozen=True, slots=True)
class _Upload:
    media_type: str
    data: bytes


class UploadedMedia:
    """The uploads in memory, by id. Use an instance in one event loop only."""

    def __init__(self, most_bytes: int = 0) -> None:
        """Create an empty store with room for at least one upload of `most_bytes`."""
        self._most = max(KEPT_BYTES, most_bytes)
        self._uploads: OrderedDict[str, _Upload] = OrderedDict()
        self._size = 0
        self._added = asyncio.Condition()

    def __contains__(self, media_id: str) -> bool:
        return media_id in self._uploads

    async def add(self, media_id: str, media_type: str, data: bytes) -> None:
        """Keep an upload.

        Raises UsageError if `media_type` is malformed.
        """
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise UsageError(f"{media_type[:80]!r} is not a media type.", hint="Use image/png.")
        if media_id not in self._uploads:
            self._uploads[media_id] = _Upload(media_type, data)
            self._size += len(data)
        while self._size > self._most:
            _, oldest = self._uploads.popitem(last=False)
            self._size -= len(oldest.data)
        async with self._added:
            self._added.notify_all()

    async def restoring(self, body: bytes, decode: Decode, limit: int) -> Decode:
        """Return a variant of `decode` that puts the uploads back into the spans of `body`.

        Waits a short time for uploads that are still missing. References to unknown media stay
        unchanged. `limit` is the maximum size of all restored media together. Without a limit, many
        references to one upload could need much more memory than the export itself.
        """
        if not any(mark.encode() in body for mark in _MARKS):
            return decode
        awaited = {found.decode() for found in _AWAITED.findall(body)}
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS), self._added:
                await self._added.wait_for(lambda: awaited <= self._uploads.keys())
        uploads = dict(self._uploads)
        return lambda body: _restored(decode(body), uploads, limit)


def _restored(
    batch: SpanBatch[RawSpan], uploads: Mapping[str, _Upload], limit: int
) -> SpanBatch[RawSpan]:
    """Replace references in the attributes of spans with `data:` URLs, up to `limit` bytes."""
    left = limit

    def replace(found: re.Match[str]) -> str:
        nonlocal left
        upload = uploads.get(found[1] or found[2])
        if upload is None or len(upload.data) > left:
            return found[0]
        left -= len(upload.data)
        return f"data:{upload.media_type};base64,{base64.b64encode(upload.data).decode()}"

    for span in batch.spans:
        for name, value in span.attributes.items():
            if isinstance(value, str) and any(mark in value for mark in _MARKS):
                span.attributes[name] = _REFERENCE.sub(replace, value)
    return batch


def langfuse_id(data: bytes) -> str:
    """Return the id that Langfuse's clients derive from the content of an upload."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()[:22]


def new_id() -> str:
    """Return a random id for an upload whose content is not known yet."""
    return secrets.token_urlsafe(16)
