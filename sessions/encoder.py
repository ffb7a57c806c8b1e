"""From what the application hands over to batches of message records."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from devices.samples import PoseSample
from sessions import format as fmt
from sessions.errors import SessionError
from sessions.records import Channel

_BATCH_BYTES = 1 << 20
"""Longer batches are cut, so that chunks stay near the size that readers like (a few MiB)."""
CHUNK_BYTES = 4 << 20


class Pending:
    """What waits to be written. Not thread-safe: its owner holds a lock."""

    def __init__(self) -> None:
        self.datagrams: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self.poses: list[PoseSample] = []
        self.wrenches: list[fmt.WrenchBatch] = []
        self.journal: list[tuple[str, int, bytes]] = []
        """Topic, time in ns, JSON."""
        self.size = 0
        """Estimate of the memory held, in bytes."""

    def __bool__(self) -> bool:
        return self.size > 0


def to_json(value: object) -> bytes:
    """Compact JSON; refuses what JSON cannot say (also NaN), since a session must be readable anywhere."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise SessionError(f"Cannot record this as JSON: {error}.") from error


class Encoder:
    """Numbers the channels of one file and turns :class:`Pending` into record batches."""

    def __init__(self) -> None:
        self._channels: dict[str, Channel] = {}
        self._topics: dict[str, str] = {}
        self._written: defaultdict[int, int] = defaultdict(int)
        self.new_channels: list[Channel] = []
        """To be declared in the file before the batches; the owner empties it."""

    def encode(self, pending: Pending) -> list[NDArray[Any]]:
        """All batches, each of one channel."""
        batches: list[NDArray[Any]] = []
        for topic, entries in _grouped(pending.journal).items():
            batches += self._bytes(self._channel(topic, 0, "json", {}), entries)
        for stream, datagrams in pending.datagrams.items():
            batches += self._bytes(self._channel(fmt.RAW + stream, 0, "raw", {"stream": stream}), datagrams)
        by_body: defaultdict[str, list[PoseSample]] = defaultdict(list)
        for sample in pending.poses:
            by_body[sample.body].append(sample)
        for body, samples in by_body.items():
            batches += self._poses(body, samples)
        wrenches = fmt.WrenchBatch.joined(pending.wrenches)
        if len(wrenches):
            wrench = self._channel(fmt.WRENCH, fmt.WRENCH_SCHEMA, "cdr", {})
            status = self._channel(fmt.WRENCH_STATUS, fmt.STATUS_SCHEMA, "cdr", {})
            batches += wrenches.messages(wrench, status)
        return [piece for batch in batches for piece in _pieces(batch)]

    def _bytes(self, channel: int, entries: Sequence[tuple[int, bytes]]) -> list[NDArray[Any]]:
        first = self._written[channel]
        self._written[channel] += len(entries)
        return fmt.datagram_messages(channel, entries, first)

    def _poses(self, body: str, samples: Sequence[PoseSample]) -> Iterable[NDArray[Any]]:
        topic = self._topic(body)
        pose = self._channel(topic, fmt.POSE_SCHEMA, "cdr", {"body": body})
        tracking = self._channel(topic + fmt.TRACKING_SUFFIX, fmt.TRACKING_SCHEMA, "cdr", {"body": body})
        return fmt.pose_messages(samples, pose, tracking)

    def _topic(self, body: str) -> str:
        """Bodies whose names become equal as topics get a number behind them."""
        if body not in self._topics:
            plain = topic = fmt.topic_of_body(body)
            number = 2
            while topic in self._topics.values():
                topic, number = f"{plain}_{number}", number + 1
            self._topics[body] = topic
        return self._topics[body]

    def _channel(self, topic: str, schema: int, encoding: str, metadata: Mapping[str, str]) -> int:
        if topic not in self._channels:
            channel = Channel(len(self._channels) + 1, schema, topic, encoding, metadata)
            self._channels[topic] = channel
            self.new_channels.append(channel)
        return self._channels[topic].id


def chunks(batches: Iterable[NDArray[Any]]) -> Iterable[list[NDArray[Any]]]:
    """Cut a list of batches into chunks of a few MiB."""
    chunk: list[NDArray[Any]] = []
    size = 0
    for batch in batches:
        if chunk and size + batch.nbytes > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(batch)
        size += batch.nbytes
    if chunk:
        yield chunk


def _grouped(journal: Iterable[tuple[str, int, bytes]]) -> dict[str, list[tuple[int, bytes]]]:
    groups: dict[str, list[tuple[int, bytes]]] = {}
    for topic, t_ns, data in journal:
        groups.setdefault(topic, []).append((t_ns, data))
    return groups


def _pieces(batch: NDArray[Any]) -> Iterable[NDArray[Any]]:
    rows = max(1, _BATCH_BYTES // batch.dtype.itemsize)
    return (batch[start : start + rows] for start in range(0, len(batch), rows))
