"""A small Pulsar server in this process, which does what a test says: a broker's answers, cuts and silence.

Its codec is its own, so that a mistake in the backend's is not repeated here.
"""

import pytest

pytest.importorskip("_pulsar", reason="pulsar-client is not installed: pip install 'jmsbridge[pulsar]'")
