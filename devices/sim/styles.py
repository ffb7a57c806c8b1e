"""Ways in which an operator makes a movement: as people normally do, with care, or badly in one named way."""

from dataclasses import dataclass

from devices.sim.scene import SceneError


@dataclass(frozen=True, slots=True)
class Style:
    """What a style changes; the amounts of normal disturbances are scaled, those of bad habits are absolute."""

    reach: tuple[float, float] = (1.0, 1.0)
    """Share of the joint's range, uniform."""
    sweep_s: tuple[float, float] = (2.4, 3.6)
    """Seconds per sweep."""
    rest_s: float = 0.3
    """Stillness before and after."""
    push_s: tuple[float, float] = (0.15, 0.3)
    """Seconds of leaning onto an end stop, and again of letting go."""
    hand: float = 1.0
    """Factor on tremor, sway and sliding."""
    stray: float = 1.0
    """Factor on the straying that the scene states."""
    occlusions: float = 1.0
    """Factor on the chance of an occlusion."""
    turns: float = 1.0
    """Factor on the chance that the grip turns in the hand."""
    loose_deg: tuple[float, float] = (0.0, 0.0)
    """The grip turns to and fro about the bar by this much all the time."""
    reorient_deg: float = 0.0
    """The gripper is turned on purpose about bar and screws by up to this much."""
    stray_bursts: int = 0
    """Excursions into the other degree of freedom …"""
    stray_share: float = 0.0
    """… that cover this share of the take …"""
    stray_m: tuple[float, float] = (0.0, 0.0)
    """… and go this far along a slide or a bar, or …"""
    stray_rad: tuple[float, float] = (0.0, 0.0)
    """… this far about a rotary joint."""
    slips: int = 0
    """Sudden slips of the grip, 10–35 mm along the bar and 8–20° about it."""
    hidden_share: tuple[float, float] = (0.0, 0.0)
    """Share of the take in which the body is hidden."""
    drift_m: float = 0.0
    """What should be held still is moved by this much."""


STYLES: dict[str, Style] = {
    "normal": Style(),
    "careful": Style(sweep_s=(3.2, 4.2), hand=0.5, stray=0.2, occlusions=0.4, turns=0.0),
    "short": Style(reach=(0.05, 0.078)),
    "loose": Style(loose_deg=(14.0, 24.0)),
    "stray": Style(stray_bursts=2, stray_share=0.75, stray_m=(0.03, 0.05), stray_rad=(0.12, 0.20)),
    "slip": Style(slips=2),
    "occluded": Style(hidden_share=(0.5, 0.7)),
    "quick": Style(sweep_s=(0.25, 0.31), rest_s=0.05, push_s=(0.04, 0.06)),
    "reorient": Style(reorient_deg=8.0),
    "stark_outliers": Style(stray_bursts=2, stray_share=0.4, stray_m=(0.025, 0.05), stray_rad=(0.4, 0.7)),
    "restless": Style(drift_m=0.02),
}


def style(name: str) -> Style:
    """The style of that name."""
    try:
        return STYLES[name]
    except KeyError:
        raise SceneError(f"No style {name!r}; there are {', '.join(STYLES)}.") from None
