"""Frames of one sender that are lost, repeated, or arrive in another order."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.server.replicas.frames import HEADER_BYTES, FrameReader, FrameWriter

MESSAGES = st.lists(st.binary(max_size=60), min_size=1, max_size=12)


@given(messages=MESSAGES, size=st.integers(1, 40))
def test_messages_of_any_size_arrive(messages: list[bytes], size: int) -> None:
    writer, reader = FrameWriter("sender"), FrameReader()
    frames = [f for message in messages for f in writer.frames(message, HEADER_BYTES + size)]
    assert max(map(len, frames)) <= HEADER_BYTES + size
    received = [reader.read(frame) for frame in frames]
    assert [each.message for each in received if each.message is not None] == messages
    assert not any(each.lost for each in received)


@given(messages=MESSAGES, size=st.integers(1, 40), draw=st.data())
def test_each_message_arrives_at_most_once_and_each_loss_is_noticed(
    messages: list[bytes], size: int, draw: st.DataObject
) -> None:
    writer, reader = FrameWriter("sender"), FrameReader()
    numbered = [bytes((number,)) + message for number, message in enumerate(messages)]
    frames = [f for message in numbered for f in writer.frames(message, HEADER_BYTES + size)]
    end = next(writer.frames(b"end", 1_000))
    delivered = draw.draw(st.lists(st.sampled_from(frames), max_size=2 * len(frames)))
    received = [reader.read(frame) for frame in (frames[0], *delivered, end)]
    arrived = [each.message for each in received if each.message is not None]
    assert arrived.pop() == b"end"
    assert [number for number in numbered if number in arrived] == arrived
    assert any(each.lost for each in received) or arrived == numbered
