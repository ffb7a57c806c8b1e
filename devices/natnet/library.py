"""The library ``natnetclient`` as a second decoder, for Motive 1.x (NatNet 2.x).

Left to itself the library reads in a thread of its own; when that thread dies, the last pose stays on show as if it
were still tracked. Here it only decodes, in our thread and one datagram at a time: whatever it raises counts as a
malformed datagram, and a body that a frame does not mention does not appear.
"""

import warnings
from types import SimpleNamespace
from typing import Any

from devices.errors import DeviceError
from devices.natnet.messages import Frame, RigidBody
from devices.natnet.reader import Malformed
from devices.natnet.types import Version


class LibraryDecoder:
    """Decodes frames of NatNet 2.x with ``natnetclient``."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                # Compiling the library's source warns about comparisons with ``is``.
                warnings.simplefilter("ignore", SyntaxWarning)
                import natnetclient
        except ImportError as error:
            raise DeviceError(
                'driver = "natnetclient" needs the library of that name. Install it with '
                '`pip install "ident[motive1]"`, or set driver = "natnet".'
            ) from error
        self._library = natnetclient
        self._client: Any = None

    def take_models(self, datagram: bytes, version: Version) -> None:
        """Take in a model-definition datagram; frames cannot be decoded before."""
        if version >= (3, 0):
            raise Malformed(
                f"model definitions: natnetclient reads NatNet 2.x only, not {version[0]}.{version[1]}; "
                'set driver = "natnet"'
            )
        # Built without its constructor, which would open sockets and start the thread.
        client = self._library.NatClient.__new__(self._library.NatClient)
        client.natnet_version = (*version, 0, 0)
        client.labeled_markers, client.marker_sets = {}, {}
        client.rigid_bodies, client.rigid_bodies_by_id = {}, {}
        packet = self._library.natnet.NatPacket(datagram)
        client.comm_sock = SimpleNamespace(get_data=lambda _kind: packet)
        try:
            client.get_model()
        except Exception as error:
            raise Malformed(f"model definitions: natnetclient failed with {error!r}") from error
        self._client = client

    def decode_frame(self, datagram: bytes, version: Version) -> Frame:
        """Decode a frame of data."""
        client = self._client
        if client is None or version >= (3, 0):
            raise Malformed(
                f"frame: natnetclient cannot read NatNet {version[0]}.{version[1]} "
                f"({'no model definitions yet' if version < (3, 0) else 'it knows 2.x only'})"
            )
        for body in client.rigid_bodies_by_id.values():
            body.error = None
        packet = self._library.natnet.NatPacket(datagram)
        client.data_sock = SimpleNamespace(recv=lambda: packet)
        client._is_recording = True  # noqa: SLF001 - keeps its property from reading a time stamp not there yet
        try:
            client.get_data()
        except Exception as error:
            raise Malformed(f"frame: natnetclient failed with {error!r}") from error
        return Frame(
            client.iFrame,
            rigid_bodies=tuple(
                RigidBody(number, tuple(b.position), tuple(b.quaternion), b.error[0], int(b.seen))
                for number, b in client.rigid_bodies_by_id.items()
                if b.error is not None
            ),
            latency=client.latency,
            timestamp=client.timestamp,
            params=int(client.is_recording) | int(client.tracked_models_changed) << 1,
        )
