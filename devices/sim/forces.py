"""What the object does to the gripper, and what the force/torque sensor feels of it."""

import numpy as np
from numpy.random import Generator

from devices.sim.disturbances import Disturbances
from devices.sim.frames import Array, inverse
from devices.sim.gripper import Gripper
from devices.sim.motion import sway
from devices.sim.plan import Plan
from devices.sim.scene import Joint, Scene

_BAR_FRICTION_N = 2.0
_BAR_FRICTION_NM = 0.15
"""Friction of the grooves on a bar when the gripper slides or turns on it."""
_STRONGEST_N = 80.0
"""A hand that moves too quickly lets the grip give way rather than pull harder."""


def resistance(joint: Joint, q: Array, hz: float) -> Array:
    """Generalised force (n,) in N or Nm that moves a joint: friction, breakaway, damping, inertia, spring, stops."""
    speed = np.gradient(q, 1.0 / hz)
    acceleration = np.gradient(speed, 1.0 / hz)
    slow = 0.01 * max(joint.upper, 1e-6)
    direction = np.tanh(speed / slow)
    sticking = np.exp(-np.abs(speed) / (4.0 * slow))
    beyond = np.maximum(q - joint.upper, 0.0) + np.minimum(q, 0.0)
    return np.asarray(
        direction * (joint.friction + joint.breakaway * sticking)
        + joint.damping * speed
        + joint.inertia * acceleration
        + joint.spring * q
        + joint.stop_stiffness * beyond
    )


def lever_arm(joint: Joint, scene: Scene, plan: Plan, tip2world: Array) -> Array:
    """Velocity (n, 3) of the tip per unit speed of the joint, world axes."""
    parent = scene.motion(joint.parent, plan.q)
    axis = parent[..., :3, :3] @ np.asarray(joint.axis)
    if joint.type == "prismatic":
        return np.broadcast_to(axis, (len(tip2world), 3))
    point = parent[..., :3, :3] @ np.asarray(joint.point) + parent[..., :3, 3]
    return np.cross(axis, tip2world[:, :3, 3] - point)


def joint_push(joint: Joint, scene: Scene, plan: Plan, disturbances: Disturbances, rng: Generator) -> Array:
    """Wrench (n, 6) of the object on the gripper at the tip, world axes, while it moves a joint."""
    tip2world = plan.tip2world(scene)
    arm = lever_arm(joint, scene, plan, tip2world)
    along = resistance(joint, np.asarray(plan.q[joint.name]), plan.hz)
    squared = np.sum(arm**2, axis=-1, keepdims=True)
    force = along[:, None] * arm / np.maximum(squared, 1e-6)
    size = np.linalg.norm(force, axis=-1, keepdims=True)
    force = force * np.minimum(1.0, _STRONGEST_N / np.maximum(size, 1e-9))
    size = np.minimum(size, _STRONGEST_N)
    side = disturbances.side_force * size * sway(rng, plan.times)
    return np.concatenate([-(force + side), np.zeros_like(force)], axis=-1) + bar_push(plan, tip2world)


def bar_push(plan: Plan, tip2world: Array) -> Array:
    """Friction wrench (n, 6) at the tip, world axes, of a gripper that slides along a bar and turns about it."""
    along = np.gradient(plan.place[:, 2], 1.0 / plan.hz)
    about = np.gradient(plan.about_bar, 1.0 / plan.hz)
    bar = tip2world[:, :3, 2]
    force = -_BAR_FRICTION_N * np.tanh(along / 0.01)[:, None] * bar
    torque = -_BAR_FRICTION_NM * np.tanh(about / 0.1)[:, None] * bar
    return np.concatenate([force, torque], axis=-1)


def sensed(plan: Plan, scene: Scene, gripper: Gripper) -> Array:
    """Wrench (n, 6) in the sensor's frame on the plan's grid, without bias and noise.

    The load on the sensor is the gripper's weight less its inertia, plus the object's push at the tip.
    """
    tip2world = plan.tip2world(scene)
    sensor2tip = inverse(gripper.tip2sensor)
    world2sensor = np.swapaxes(tip2world[:, :3, :3] @ sensor2tip[:3, :3], -1, -2)
    com_in_tip = sensor2tip[:3, :3] @ gripper.com + sensor2tip[:3, 3]
    com = tip2world[:, :3, :3] @ com_in_tip + tip2world[:, :3, 3]
    acceleration = np.gradient(np.gradient(com, 1.0 / plan.hz, axis=0), 1.0 / plan.hz, axis=0)
    weight = gripper.mass * (np.asarray(scene.gravity) - acceleration)
    force = np.einsum("nij,nj->ni", world2sensor, weight)
    torque = np.cross(gripper.com, force)
    if plan.push is not None:
        contact = np.einsum("nij,nj->ni", world2sensor, plan.push[:, :3])
        torque = torque + np.cross(gripper.tip2sensor[:3, 3], contact)
        torque += np.einsum("nij,nj->ni", world2sensor, plan.push[:, 3:])
        force = force + contact
    return np.concatenate([force, torque], axis=-1)
