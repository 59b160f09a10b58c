"""The compliance suite: ``from jmsbridge.testing.suite import *`` in one test module runs every case on your broker.

Each module of this package lists its cases in ``__all__``; a new module is found by itself. Names are unique over the
whole suite, because they all land in that one test module.
"""

import importlib
import pkgutil

__all__: list[str] = []


def _gather() -> None:
    homes: dict[str, str] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.endswith("support"):  # helpers of the cases, not cases
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        for name in module.__all__:
            if name in homes:
                raise ImportError(f"{name} is in both {homes[name]}.py and {info.name}.py of the suite; rename one")
            homes[name] = info.name
            globals()[name] = getattr(module, name)
    __all__.extend(sorted(homes))


_gather()
