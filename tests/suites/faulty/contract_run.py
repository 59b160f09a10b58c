"""Every case of the contract, for the one variant that ``JMSBRIDGE_FAULTY`` names; ``test_contract_runs`` runs it."""

import pytest

from jmsbridge.testing.suite import *  # noqa: F403

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
