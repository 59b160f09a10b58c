"""A small AMQP 1.0 server for tests, on proton's own server side, that does wrong what a test wants done wrong.

Modules that import it are skipped where proton is not installed; they must import nothing else that needs it.
"""

import pytest

__all__: list[str] = []

pytest.importorskip("proton", reason="python-qpid-proton is not installed: pip install 'jmsbridge[amqp]' builds it")
