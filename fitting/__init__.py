"""Robust estimation of lines, circles, screws and joints from noisy poses: arrays in, results out."""
