"""Robust estimation of lines, circles, screws and joints from noisy poses: arrays in, results out.

Points are (n, 3) in metres and in time order, poses (n, 4, 4) body to world; a list of such is several takes of one
joint. Results are frozen; a failure is a falsy ``FitFailure`` that explains itself.
"""

from fitting.circle import CircleFit, fit_circle
from fitting.cylinder import CylindricalFit, fit_cylindrical
from fitting.free import FreeFit, fit_free
from fitting.line import LineFit, fit_line
from fitting.online import Online
from fitting.pivot import PivotFit, fit_pivot
from fitting.prismatic import PrismaticFit, fit_prismatic
from fitting.result import AxisFit, Fit, FitFailure
from fitting.rigid import RigidFit, fit_rigid
from fitting.rotary import RotaryFit, fit_rotary
from fitting.screw import ScrewFit, fit_screw
from fitting.selection import Candidate, Selection, select
from fitting.warm import is_warm, warm_up

__all__ = [
    "AxisFit",
    "Candidate",
    "CircleFit",
    "CylindricalFit",
    "Fit",
    "FitFailure",
    "FreeFit",
    "LineFit",
    "Online",
    "PivotFit",
    "PrismaticFit",
    "RigidFit",
    "RotaryFit",
    "ScrewFit",
    "Selection",
    "fit_circle",
    "fit_cylindrical",
    "fit_free",
    "fit_line",
    "fit_pivot",
    "fit_prismatic",
    "fit_rigid",
    "fit_rotary",
    "fit_screw",
    "is_warm",
    "select",
    "warm_up",
]
