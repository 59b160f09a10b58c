"""The sample backend and its harness, from where they are shipped."""

import importlib
import sys
from typing import Any

from jmsbridge.testing.sample import FOLDER

__all__ = ["SampleHarness", "acme", "harness"]

sys.path.insert(0, str(FOLDER))  # its conftest imports ``acme_jms`` as that of a copy does
acme: Any = importlib.import_module("acme_jms")
_shipped: Any = importlib.import_module("jmsbridge.testing.sample.conftest")
SampleHarness: Any = _shipped.SampleHarness
harness: Any = _shipped.harness
