"""What the operator sees while a take is running: rates, tracking, load, and the fit as it stands."""

from ident.live.fit import fit_of_result
from ident.live.status import DeviceLive, LiveFit, LiveStatus, TakeLive, advice, finished, progress_to_goal
from ident.live.watch import Live

__all__ = [
    "DeviceLive",
    "Live",
    "LiveFit",
    "LiveStatus",
    "TakeLive",
    "advice",
    "finished",
    "fit_of_result",
    "progress_to_goal",
]
