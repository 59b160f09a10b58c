"""The sample backend and its harness, imported from the package that ships them."""

import importlib
import sys
from typing import Any

from jmsbridge.testing.sample import FOLDER

__all__ = ["SampleHarness", "acme", "harness"]

sys.path.insert(0, str(FOLDER))  # its conftest imports ``acme_jms``, as in a copy
acme: Any = importlib.import_module("acme_jms")
_shipped: Any = importlib.import_module("jmsbridge.testing.sample.conftest")
SampleHarness: Any = _shipped.SampleHarness
harness: Any = _shipped.harness
