import asyncio
import json
from pathlib import Path
from uuid import uuid4

from nats.aio.msg import Msg

from tests.engines import NatsServer
from tests.server.replicas.running import replica
from treadle.nats.connection import connect
from treadle.nats.names import ProjectNames
from treadle.server.replicas.frames import FrameReader, FrameWriter


async def test_request_of_a_newer_server_gets_a_reply(repo: Path, nats: NatsServer) -> None:
    names, newer = ProjectNames(), uuid4().hex
    replies: asyncio.Queue[bytes] = asyncio.Queue()

    async def receive(message: Msg) -> None:
        await replies.put(message.data)

    async with (
        replica(repo, nats.url),
        connect(nats.url, name="newer") as connection,
    ):
        await connection.client.subscribe(names.subject("server", newer), cb=receive)
        request = {"type": "asked", "id": str(uuid4()), "request": {"type": "of the future"}}
        writer, reader = FrameWriter(newer), FrameReader()
        for message in ({"type": "of the future"}, request):
            for frame in writer.frames(json.dumps(message).encode(), 100_000):
                await connection.client.publish(names.subject("servers"), frame)
        received = reader.read(await asyncio.wait_for(replies.get(), 60))
        assert received.message is not None
        reply = json.loads(received.message)
        assert (reply["id"], reply["owned"]) == (request["id"], False)
