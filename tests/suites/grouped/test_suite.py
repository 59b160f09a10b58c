"""The cases of the compliance suite about sending, closing and faults, with sends confirmed in groups."""

from jmsbridge.testing.suite import *  # noqa: F403
