"""Pictures of a screen as small PNG files: 256 colours, which is nearly all that a screen has."""

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

_COLOURS = 256
_PIXELS = """
async (png) => {
    const answer = await fetch('data:image/png;base64,' + png);
    const image = await createImageBitmap(await answer.blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const drawn = canvas.getContext('2d');
    drawn.drawImage(image, 0, 0);
    const pixels = drawn.getImageData(0, 0, image.width, image.height).data;
    return [image.width, new Uint8Array(pixels.buffer).toBase64()];
}
"""


def small_png(png: bytes, blank: Page) -> bytes:
    """The same picture in fewer bytes.

    `blank` is a page without a content security policy, which decodes it.
    """
    width, encoded = blank.evaluate(_PIXELS, base64.b64encode(png).decode())
    rgb = np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(-1, 4)[:, :3].astype(np.int64)
    packed = rgb @ np.array([1 << 16, 1 << 8, 1])
    found, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    palette = _palette(found, counts)
    nearest = np.array([_nearest(colour, palette) for colour in found], np.uint8)
    rows = nearest[places].reshape(-1, width)
    filtered = np.insert(rows, 0, 0, axis=1)  # each row begins with its filter number: none
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", _channels(palette).astype(np.uint8).tobytes()),
            _chunk(b"IDAT", zlib.compress(filtered.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _palette(found: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most common colours: one of each region first, then finer regions."""
    commonest = found[np.argsort(-counts, kind="stable")].tolist()
    chosen: dict[int, None] = {}
    for alike in (0xE0E0E0, 0xF8F8F8, 0xFCFCFC):
        seen: dict[int, int] = {}
        for colour in commonest:
            seen.setdefault(colour & alike, colour)
        chosen |= dict.fromkeys(seen.values())
    return np.array(list(chosen)[:_COLOURS])


def _nearest(colour: np.int64, palette: NDArray[np.int64]) -> int:
    distances = (_channels(palette) - _channels(np.array([colour]))) ** 2
    return int(distances.sum(axis=1).argmin())


def _channels(colours: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )
