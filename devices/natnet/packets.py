"""NatNet datagrams of versions 2.5 to 4.2: ``decode`` and ``encode`` for every kind of message, pure."""

from struct import Struct
from typing import cast

from devices.natnet.descriptions import ModelDef
from devices.natnet.frame_encoder import encode_frame
from devices.natnet.frames import decode_frame
from devices.natnet.messages import (
    Connect,
    Disconnect,
    DisconnectByTimeout,
    Discovery,
    EchoRequest,
    EchoResponse,
    Frame,
    KeepAlive,
    Message,
    MessageString,
    Request,
    RequestFrame,
    RequestModelDef,
    Response,
    Sender,
    ServerInfo,
    Unrecognized,
)
from devices.natnet.models import decode_models, encode_models
from devices.natnet.reader import Malformed, Reader, text_bytes
from devices.natnet.types import FourBytes, Version

__all__ = ["FRAME_ID", "MAX_DATAGRAM", "Malformed", "decode", "encode", "message_id"]

MAX_DATAGRAM = 65535
"""Bytes that a UDP datagram can have at most."""

FRAME_ID = 7
_HEADER = Struct("<HH")
_SENDER = Struct("<256s4B4B")
_SERVER = Struct("<QHB4B")
_BITSTREAM = Struct("<B4B")
_U64 = Struct("<Q")
_TWO_U64 = Struct("<2Q")

_IDS: dict[type[Message], int] = {
    Connect: 0,
    ServerInfo: 1,
    Request: 2,
    Response: 3,
    RequestModelDef: 4,
    ModelDef: 5,
    RequestFrame: 6,
    Frame: FRAME_ID,
    MessageString: 8,
    Disconnect: 9,
    KeepAlive: 10,
    DisconnectByTimeout: 11,
    EchoRequest: 12,
    EchoResponse: 13,
    Discovery: 14,
    Unrecognized: 100,
}
_EMPTY: dict[int, Message] = {
    4: RequestModelDef(),
    6: RequestFrame(),
    9: Disconnect(),
    10: KeepAlive(),
    11: DisconnectByTimeout(),
}


def message_id(datagram: bytes) -> int:
    """Return the kind of message without decoding the rest."""
    if len(datagram) < _HEADER.size:
        raise Malformed(f"header: 4 bytes expected, the datagram has {len(datagram)}")
    return datagram[0] | datagram[1] << 8


def decode(datagram: bytes, version: Version) -> Message:
    """Return the message that a datagram carries.

    ``version`` is the NatNet version of the stream, as the server's answer to :class:`Connect` says it. The
    byte count in the header is not trusted; the datagram's own length bounds every read. Raises
    :class:`Malformed`.
    """
    kind = message_id(datagram)
    if kind == FRAME_ID:
        return decode_frame(datagram, version)
    if kind in _EMPTY:
        return _EMPTY[kind]
    if kind == _IDS[ModelDef]:
        return decode_models(datagram, version)
    return _decode_command(kind, datagram)


def _decode_command(kind: int, datagram: bytes) -> Message:
    reader = Reader(datagram, _HEADER.size, "message")
    match kind:
        case 0:
            return _connect(reader)
        case 1:
            return _server_info(reader)
        case 2:
            return Request(_words(reader))
        case 3:
            return Response(reader.rest())
        case 8:
            return MessageString(_words(reader))
        case 100:
            return Unrecognized(reader.rest())
        case 12:
            reader.part = "echo request"
            return EchoRequest(*_U64.unpack_from(datagram, reader.take(8)))
        case 13:
            reader.part = "echo response"
            return EchoResponse(*_TWO_U64.unpack_from(datagram, reader.take(16)))
        case 14:
            return Discovery(_sender(reader) if reader.end - reader.at >= _SENDER.size else None)
        case _:
            raise Malformed(f"header: message id {kind} is not known")


def _words(reader: Reader) -> str:
    """Read text that may lack its NUL."""
    return reader.rest().split(b"\0")[0].decode("utf-8", "backslashreplace")


def _sender(reader: Reader) -> Sender:
    reader.part = "sender"
    name, *versions = _SENDER.unpack_from(reader.data, reader.take(_SENDER.size))
    text = name.split(b"\0")[0].decode("utf-8", "backslashreplace")
    return Sender(text, cast(FourBytes, tuple(versions[:4])), cast(FourBytes, tuple(versions[4:])))


def _connect(reader: Reader) -> Connect:
    """Read a connect request; clients in use send nothing, a word, or their name with or without a wish."""
    if reader.end - reader.at < _SENDER.size:
        return Connect()
    sender = _sender(reader)
    if reader.end - reader.at < _BITSTREAM.size:
        return Connect(sender)
    subscribed, *bitstream = _BITSTREAM.unpack_from(reader.data, reader.take(_BITSTREAM.size))
    return Connect(sender, bool(subscribed), cast(FourBytes, tuple(bitstream)))


def _server_info(reader: Reader) -> ServerInfo:
    sender = _sender(reader)
    if reader.at == reader.end:
        return ServerInfo(sender)
    reader.part = "server info"
    clock_hz, port, multicast, *group = _SERVER.unpack_from(reader.data, reader.take(_SERVER.size))
    return ServerInfo(sender, clock_hz, port, bool(multicast), cast(FourBytes, tuple(group)))


def _sender_bytes(sender: Sender) -> bytes:
    name = sender.name.encode("utf-8")
    if len(name) > 255 or b"\0" in name:
        raise ValueError(f"a sender's name has at most 255 bytes and no NUL, not {sender.name!r}")
    return _SENDER.pack(name, *sender.app_version, *sender.natnet_version)


def _payload(message: Message, version: Version) -> bytes:
    match message:
        case Frame():
            return encode_frame(message, version)
        case ModelDef():
            return encode_models(message, version)
        case Connect(sender, subscribed, bitstream):
            if sender is None:
                return b""
            wish = b"" if bitstream is None else _BITSTREAM.pack(subscribed, *bitstream)
            return _sender_bytes(sender) + wish
        case ServerInfo(sender):
            if version < (3, 0):
                return _sender_bytes(sender)
            return _sender_bytes(sender) + _SERVER.pack(
                message.clock_hz, message.data_port, message.multicast, *message.group
            )
        case Request(text) | MessageString(text):
            return text_bytes(text)
        case Response(payload) | Unrecognized(payload):
            return payload
        case EchoRequest(stamp):
            return _U64.pack(stamp)
        case EchoResponse(stamp, ticks):
            return _TWO_U64.pack(stamp, ticks)
        case Discovery(sender):
            return b"" if sender is None else _sender_bytes(sender)
        case _:
            return b""


def encode(message: Message, version: Version) -> bytes:
    """Return the datagram that carries a message; what the version cannot carry is left out."""
    payload = _payload(message, version)
    if len(payload) > MAX_DATAGRAM - 28 - _HEADER.size:
        raise ValueError(f"{type(message).__name__} has {len(payload)} bytes, more than a datagram can carry")
    return _HEADER.pack(_IDS[type(message)], len(payload)) + payload
