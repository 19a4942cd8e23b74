"""Media that clients of Langfuse and Traceloop upload separately from their spans."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.exports import export, span
from tests.server.serving import Served, serving
from treadle.errors import UsageError
from treadle.server import uploaded_media
from treadle.server.uploaded_media import UploadedMedia
from treadle.spans.ingest import Decode
from treadle.spans.otlp import decode_json
from treadle.spans.raw_span import RawSpan

IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
URL = "data:image/png;base64," + base64.b64encode(IMAGE).decode()
HASH = base64.b64encode(hashlib.sha256(IMAGE).digest()).decode()
ID = HASH.replace("+", "-").replace("/", "_")[:22]
REFERENCE = f"@@@langfuseMedia:type=image/png|id={ID}|source=base64_data_uri@@@"
SPANS = "/api/public/otel/v1/traces"


def asked(url: str, number: int = 1) -> dict[str, Any]:
    """An export of a model call whose prompt has an image."""
    return export(span(number, text=json.dumps([{"image": url}])))


async def send(served: Served, body: dict[str, Any], path: str = SPANS) -> None:
    answer = await served.http.post(path, json=body)
    assert (answer.status_code, answer.content) == (200, b"{}"), answer.text


async def prompt(served: Served, number: int = 1) -> Any:
    """The prompt of a recorded call."""
    found = await served.get(f"/spans/{1:032x}/{number:016x}", whole="true")
    return json.loads(json.loads(found["span"]["input"])[0]["content"])


async def upload(served: Served) -> None:
    """Upload the image as Langfuse's client does: the client sends no keys with the content."""
    announced = await served.http.post(
        "/api/public/media", json={"sha256Hash": HASH, "contentType": "image/png"}
    )
    assert announced.json()["mediaId"] == ID
    address = announced.json()["uploadUrl"]
    sent = await served.http.put(address, content=IMAGE, headers={"Content-Type": "image/png"})
    assert sent.status_code == 200
    ended = await served.http.patch(f"/api/public/media/{ID}", json={"uploadHttpStatus": 200})
    assert ended.status_code == 200


async def test_image_of_langfuse_is_put_back_into_the_message(repo: Path) -> None:
    async with serving(repo) as served:
        await upload(served)
        await send(served, asked(REFERENCE))
        assert await prompt(served) == [{"image": URL}]
        again = await served.http.post("/api/public/media", json={"sha256Hash": HASH})
        assert again.json() == {"mediaId": ID, "uploadUrl": None}
        forged = await served.http.put(f"/api/public/media/{ID}", content=b"another")
        assert forged.status_code == 422


async def test_image_of_traceloop_is_put_back_into_the_message(repo: Path) -> None:
    async with serving(repo) as served:
        announced = await served.http.post(
            "/v2/traces/7/spans/8/images", json={"image_name": "message_0_content_1.png"}
        )
        address = announced.json()["url"]
        assert address.startswith(served.address)
        refused = await served.http.post(address, json={"image_data": "no base64"})
        assert refused.status_code == 422
        content = base64.b64encode(IMAGE).decode()
        assert (await served.http.post(address, json={"image_data": content})).is_success
        await send(served, asked(address), "/v1/traces")
        assert await prompt(served) == [{"image": URL}]


async def test_scores_are_rejected_with_a_reason_and_spans_still_arrive(repo: Path) -> None:
    async with serving(repo) as served:
        listed = await served.http.post("/api/public/scores", json=[{"name": "a"}, {"name": "b"}])
        assert (listed.status_code, listed.json()["rejected"]) == (207, 2)
        assert "does not store scores" in listed.json()["errors"][0]["message"]
        for path, body in (("scores", {"name": "a"}), ("ingestion", {"batch": []})):
            refused = await served.http.post(f"/api/public/{path}", json=body)
            assert refused.status_code == 422
            assert "does not store scores" in refused.json()["error"]["message"]
        project = (await served.http.get("/api/public/projects")).json()["data"]
        assert [each["name"] for each in project] == ["Treadle"]
        await send(served, asked("https://images.example/a.png"))
        assert await prompt(served) == [{"image": "https://images.example/a.png"}]


async def test_secret_key_of_langfuse_may_be_the_token(repo: Path) -> None:
    token = "a-token-of-the-user"
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=token) as served:
        address = f"http://127.0.0.1:{served.address.rpartition(':')[2]}{SPANS}"
        async with httpx2.AsyncClient() as http:
            for password, status in ((token, 200), ("wrong", 401), ("", 401)):
                answer = await http.post(address, json=asked("a"), auth=("public", password))
                assert answer.status_code == status
            broken = {"Authorization": "Basic %%%"}
            assert (await http.post(address, json={}, headers=broken)).status_code == 401


async def restored(media: UploadedMedia, limit: int = 1_000_000, **exports: str) -> list[str]:
    """The values of an attribute of each span of an export, after the media are put back."""
    spans = [span(n, text=text) for n, text in enumerate(exports.values(), start=1)]
    body = json.dumps(export(*spans)).encode()
    decode: Decode = await media.restoring(body, decode_json, limit)
    found: tuple[RawSpan, ...] = decode(body).spans
    return [
        json.loads(str(each.attributes["gen_ai.input.messages"]))[0]["parts"][0]["content"]
        for each in found
    ]


async def test_export_waits_only_a_short_time_for_an_upload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uploaded_media, "WAIT_SECONDS", 0.0)
    assert await restored(UploadedMedia(), one=REFERENCE) == [REFERENCE]


async def test_restored_media_are_limited() -> None:
    media = UploadedMedia()
    await media.add(ID, "image/png", IMAGE)
    both = {"one": REFERENCE, "two": REFERENCE}
    assert await restored(media, 2 * len(IMAGE), **both) == [URL, URL]
    assert await restored(media, 2 * len(IMAGE) - 1, **both) == [URL, REFERENCE]


async def test_oldest_uploads_are_removed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_media, "KEPT_BYTES", 10)
    media = UploadedMedia()
    for name in ("a", "b", "c"):
        await media.add(name, "image/png", b"12345")
    await media.add("c", "image/png", b"12345")
    assert [name in media for name in "abc"] == [False, True, True]
    large = UploadedMedia(11)
    await large.add("d", "image/png", b"12345678901")
    assert "d" in large
    with pytest.raises(UsageError, match="not a media type"):
        await media.add("d", "image/png;base64,AAAA", b"1")
