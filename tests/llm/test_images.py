"""Images on the wire, in records, and the refusals of models that take none."""

import asyncio
import json
from base64 import b64encode
from dataclasses import replace

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, error
from tests.llm.asking import REQUEST, Asked
from treadle.config.model import ProviderSettings, Settings
from treadle.llm import connect, wire
from treadle.llm.endpoint import Endpoint
from treadle.llm.error_texts import says_no_images
from treadle.llm.image_parts import image_type, without_image_data
from treadle.llm.messages import Image, NoteMessage, SystemMessage, UserMessage
from treadle.llm.model_probe import parse_models, probe_images
from treadle.llm.provider_errors import FaultKind, ProviderError, from_response
from treadle.llm.valid_history import Dialect

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels " * 1_000
IMAGE = Image("screen.png", "image/png", PNG)
ADDRESS = f"data:image/png;base64,{b64encode(PNG).decode()}"
QUESTION = UserMessage("What is wrong?", images=(IMAGE,))


def test_an_image_is_a_content_part_after_the_text() -> None:
    (sent,) = wire.encode([QUESTION], Dialect("p", "m"))
    assert sent["content"] == [
        {"type": "text", "text": "What is wrong?"},
        {"type": "image_url", "image_url": {"url": ADDRESS}},
    ]


def test_merged_messages_keep_their_images() -> None:
    (sent,) = wire.encode([QUESTION, NoteMessage("A note."), QUESTION], Dialect("p", "m"))
    assert isinstance(sent["content"], list)
    assert [part["type"] for part in sent["content"]] == ["text", "image_url", "image_url"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF....WEBPVP8 ", "image/webp"),
        (b"RIFF....WAVE", None),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_the_first_bytes_decide_the_media_type(data: bytes, kind: str | None) -> None:
    assert image_type(data) == kind


def test_a_record_has_the_size_and_hash_of_an_image() -> None:
    sent = wire.encode([SystemMessage("S"), QUESTION], Dialect("p", "m"))
    system, question = without_image_data(sent)
    assert system == sent[0]
    text = json.dumps(question)
    assert len(text) < 300
    assert f"image/png;base64-characters={len(b64encode(PNG))};blake2b=" in text
    assert without_image_data([question]) == [question]


@pytest.mark.parametrize(
    "text",
    [
        "No endpoints found that support image input",
        "image input is not supported - hint: you may need to provide the mmproj",
        "Invalid content type. image_url is only supported by certain models.",
        "This model does not support image inputs",
        "gpt-x does not support images",
        "qwen3 is not a multimodal model",
        "unknown variant `image_url`, expected `text`",
        "Unsupported content type: image_url",
        "This model only supports text input.",
    ],
)
def test_refusals_of_all_images_are_recognized(text: str) -> None:
    refused = from_response(
        Endpoint("fake", "m", "http://127.0.0.1:1/v1"), 400, {"error": {"message": text}}, {}, 0.0
    )
    assert (refused.kind, refused.retryable) == (FaultKind.NO_IMAGES, False)
    assert "does not take images with 'm'" in refused.message


@pytest.mark.parametrize(
    "text",
    [
        "You uploaded an unsupported image. Please make sure your image is below 20 MB in size.",
        "The image is too large",
        "Could not process image",
        "The data is not a valid image",
        "image type is not supported",
        "does not support image types other than png",
        "No endpoints found that support tool use",
        "messages: content must not be empty",
    ],
)
def test_refusals_of_one_image_are_not_taken_for_refusals_of_all(text: str) -> None:
    assert not says_no_images(text)


async def test_a_refusal_of_images_is_remembered_and_the_record_has_no_data() -> None:
    request = replace(REQUEST, messages=(SystemMessage("S"), QUESTION))
    refusal = error(404, "No endpoints found that support image input")
    async with FakeProvider([refusal, Answer("Fine.")]) as provider:
        ask = Asked(provider, FakeClock())
        assert await ask.model.takes_images() is None
        with pytest.raises(ProviderError) as caught:
            await ask(request)
        assert caught.value.kind is FaultKind.NO_IMAGES
        assert await ask.model.takes_images() is False
        assert ADDRESS in json.dumps(provider.requests[0].messages)
        recorded = ask.observer.started[0].input_text
        assert "treadle-omitted-image:image/png" in recorded
        assert len(recorded) < 500
        assert (await ask()).message.text == "Fine."
        await ask.model.close()


@pytest.mark.parametrize(
    ("described", "takes"),
    [
        ({"architecture": {"input_modalities": ["text", "image"]}}, True),
        ({"architecture": {"input_modalities": ["text"]}}, False),
        ({"architecture": {}}, None),
        ({}, None),
    ],
)
async def test_list_of_models_states_whether_a_model_takes_images(
    described: dict[str, object], takes: bool | None
) -> None:
    entry = {"id": "m", **described}
    assert parse_models({"data": [entry]})[0].takes_images is takes
    async with FakeProvider(models=[entry]) as provider:
        own = ProviderSettings(base_url=provider.base_url, models=["m"])
        model = await connect(Settings(model="mine/m", providers={"mine": own}), {})
        assert await model.takes_images() is takes
        await model.close()


@pytest.mark.parametrize(
    ("body", "takes"),
    [
        ('{"modalities": {"vision": true}}', True),
        ('{"modalities": {"vision": false}}', False),
        ("{}", None),
        ("[1", None),
    ],
)
async def test_properties_of_a_local_server_state_whether_it_takes_images(
    body: str, takes: bool | None
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"GET /props ")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await probe_images(f"http://127.0.0.1:{port}/v1") is takes
