"""The cases of the compliance suite that the table of faulty variants names."""

import pytest

from jmsbridge.testing import suite
from tests.suites.faulty.table import TABLE

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

globals().update({name: getattr(suite, name) for row in TABLE for name in (case.split("[")[0] for case in row.cases)})
