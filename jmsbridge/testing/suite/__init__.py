"""The compliance suite: ``from jmsbridge.testing.suite import *`` in one test module runs every case on your broker.

Each folder of this package is a subject, and each function ``test_…`` in it is a case; new cases are found by
themselves. Names are unique in the whole suite, because all cases are imported into that one test module.
"""

import importlib
import pkgutil

from jmsbridge.testing.suite import fixtures

__all__: list[str] = []


def _gather() -> None:
    homes: dict[str, str] = dict.fromkeys(fixtures.__all__, fixtures.__name__)
    globals().update({name: getattr(fixtures, name) for name in homes})
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if not name.startswith("test_") or value.__module__ != module.__name__:
                continue
            if name in homes:
                raise ImportError(f"{name} is in both {homes[name]} and {module.__name__}; rename one")
            homes[name] = module.__name__
            globals()[name] = value
    __all__.extend(sorted(homes))


_gather()
