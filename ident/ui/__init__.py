"""Shells of the workflow: plain lines, a scripted operator, and the full-screen wizard."""
