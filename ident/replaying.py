"""A session played again: recorded datagrams through the real decoders and buffers, events through the workflow."""

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devices.netft import SensorCalibration
from ident.config import RigConfig
from ident.errors import IdentError
from ident.identify import build_tree
from ident.model import model_text, parse_model
from ident.reprocess import replay_events
from ident.resume import recorded_rig
from ident.rig import natnet_config, netft_config
from ident.takes import TakeData, take_data
from ident.tree import KinematicTree
from ident.workflow.events import Event, TakeEnded, event_from_dict
from ident.workflow.state import State
from sessions import Session, open_session
from sessions.decode import Decoders
from sessions.replay import Played, play


@dataclass(frozen=True)
class Replayed:
    """What a replay came to."""

    state: State
    data: dict[int, TakeData]
    tree: KinematicTree
    played: Played

    @property
    def digest(self) -> str:
        """SHA-256 of the model's text: equal digests mean equal models, bit for bit."""
        return model_digest(self.tree)


def model_digest(tree: KinematicTree) -> str:
    """SHA-256 of a model's text, without where and when it was saved."""
    return hashlib.sha256(model_text(dataclasses.replace(tree, provenance={})).encode()).hexdigest()


def recorded_digest(path: Path) -> str | None:
    """Digest of the model that a session saved; None where it saved none."""
    document = open_session(path).documents().get("model")
    return None if document is None else model_digest(parse_model(json.dumps(document), f"the model in {path}"))


def replay(
    path: Path,
    *,
    speed: float | None,
    from_take: int = 0,
    on_state: Callable[[State], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> Replayed:
    """Play a session; ``speed`` None means as fast as possible. Takes before ``from_take`` are not waited for."""
    session = open_session(path)
    log = [event_from_dict(entry.content) for entry in session.events()]
    if not log:
        raise IdentError(f"{path} holds no workflow events; `ident replay --serve` can still stream its datagrams.")
    config = recorded_rig(session)
    decoders = _decoders(session, config)
    begin_ns = _start(log, from_take)
    if begin_ns is not None and speed is not None:
        play(session, decoders.feed, speed=None, t1_ns=begin_ns)
    played = play(session, decoders.feed, speed=speed, t0_ns=begin_ns if speed is not None else None, stop=stop)
    decoders.finish()
    state, data = replay_events(log, lambda ended: _take(decoders, config, ended), config.limits(), on_state)
    return Replayed(state, data, build_tree(state, accepted_only=True), played)


def _start(log: list[Event], from_take: int) -> int | None:
    if not from_take:
        return None
    for event in log:
        if isinstance(event, TakeEnded) and event.take + 1 == from_take:
            return event.t0_ns
    last = max((e.take + 1 for e in log if isinstance(e, TakeEnded)), default=0)
    raise IdentError(f"There is no finished take {from_take}; the session has takes 1 to {last}.")


def recorded_calibration(session: Session) -> SensorCalibration | None:
    """Counts and units of the force/torque sensor that a session was recorded with."""
    told = session.documents().get("rig", {}).get("ft_calibration")
    return None if told is None else SensorCalibration(**{**told, "bias_counts": tuple(told["bias_counts"])})


def _decoders(session: Session, config: RigConfig) -> Decoders:
    return Decoders(
        natnet_config(config.mocap),
        netft_config(config.ft) if config.ft is not None else None,
        recorded_calibration(session),
        speed=float(session.documents()["rig"].get("speed", 1.0)),
    )


def _take(decoders: Decoders, config: RigConfig, ended: TakeEnded) -> TakeData:
    window = decoders.buffers[config.mocap.body].window(ended.t0_ns, ended.t1_ns)
    name = config.mocap.reference
    reference = None if name is None else decoders.buffers[name].window(ended.t0_ns, ended.t1_ns)
    return take_data(window, ended.t0_ns, ended.t1_ns, reference)
