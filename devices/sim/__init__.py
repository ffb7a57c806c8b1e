"""A simulated rig: scenes with their truth, an operator who moves as people do, servers that speak the protocols."""

from devices.sim.disturbances import Disturbances
from devices.sim.rig import Endpoints, Performed, SimulatedRig, SimulationError
from devices.sim.scene import Scene, SceneError
from devices.sim.scene_file import load_scene, shipped_scenes

__all__ = [
    "Disturbances",
    "Endpoints",
    "Performed",
    "Scene",
    "SceneError",
    "SimulatedRig",
    "SimulationError",
    "load_scene",
    "shipped_scenes",
]
