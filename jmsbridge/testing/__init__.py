"""Tools for testing jmsbridge and its backends: harness, marks, scripted backend and the compliance suite.

Load the plugin with ``-p jmsbridge.testing.plugin``. The author of a backend subclasses ``Harness``, provides it as a
fixture named ``harness``, and star-imports ``jmsbridge.testing.suite`` in one test module: see
``docs/backend-authors.md``.
"""

from jmsbridge.testing.harness import Harness
from jmsbridge.testing.marks import level, pitfall, promise, requires, rule

__all__ = ["Harness", "level", "pitfall", "promise", "requires", "rule"]
