"""Jakarta Messaging's methods and what they are in Python: one table for all that need it.

The Java face of the conformance tests calls what it says, ``jmsbridge migrate`` reports it. A test compares it with the
classes of the API. It imports nothing, so that any module may read it.
"""

from jmsbridge.java_api.interfaces import INTERFACES, LEFT_OUT, PARENTS
from jmsbridge.java_api.rows import Row, inherited, rows

__all__ = ["INTERFACES", "LEFT_OUT", "PARENTS", "Row", "inherited", "rows"]
