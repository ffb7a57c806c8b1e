"""Operator-guided identification of articulated objects: workflow, models, user interfaces."""
