"""Handle types, one file each; a new file here is a new type."""

import pkgutil
from importlib import import_module

from ident.handles.base import Handle, handle_types
from ident.handles.handle0 import Handle0
from ident.handles.handle1 import Handle1
from ident.handles.handle2 import Handle2

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Handle", "Handle0", "Handle1", "Handle2", "handle_types"]
