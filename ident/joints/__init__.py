"""Joint types, one file each; a new file here is a new type (see ``docs/add-a-joint.md``)."""

import pkgutil
from importlib import import_module

from ident.joints.base import Joint, joint_types
from ident.joints.evidence import Evidence
from ident.joints.fixed import Fixed
from ident.joints.prismatic import Prismatic
from ident.joints.rotary import Rotary

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Evidence", "Fixed", "Joint", "Prismatic", "Rotary", "joint_types"]
