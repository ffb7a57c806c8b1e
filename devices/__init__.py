"""Drivers for motion capture, force/torque and trigger devices, and a simulated rig."""
