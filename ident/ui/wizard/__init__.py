"""The full-screen wizard: a shell of the workflow for an operator who stands two metres away."""

from ident.ui.wizard.shell import WizardShell, possible, wanted

__all__ = ["WizardShell", "possible", "wanted"]
