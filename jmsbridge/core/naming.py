"""Names that are unique across processes and time: message ids, temporary destinations, thread names."""

import itertools
import os
import uuid
from collections.abc import Callable

__all__ = ["message_ids", "sequence"]

sequence = itertools.count(1)
"""Numbers connections and sessions within the process, for names in threads and logs."""


def message_ids() -> Callable[[], str]:
    """A generator of JMSMessageIDs: prefix ``ID:``, unique per session object and process (rule HD-3)."""
    prefix = f"ID:jb-{uuid.uuid4().hex[:20]}-{os.getpid():x}:"
    count = itertools.count(1).__next__
    return lambda: f"{prefix}{count()}"
