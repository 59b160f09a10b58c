"""For all tests: hypothesis sets no deadline, since a machine that is busy elsewhere would miss it now and then."""

from hypothesis import settings

__all__: list[str] = []

settings.register_profile("jmsbridge", deadline=None)
settings.load_profile("jmsbridge")
