"""Figures of models, made without a window and without global state.

Nothing is imported here: whoever measures sends what is to be drawn to another process, and does without matplotlib.
"""
