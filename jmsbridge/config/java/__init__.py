"""Java messaging configuration as a profile: ``jndi.properties``, Spring Boot's files, the clients' URLs.

``import_text`` reads no file and opens no connection. ``rules`` is how the tables of options are applied, one module
per client has its table, ``jndi`` and ``spring`` are the two kinds of files.
"""

from jmsbridge.config.java.model import CLIENTS, Imported, Note
from jmsbridge.config.java.reading import KINDS, import_text

__all__ = ["CLIENTS", "KINDS", "Imported", "Note", "import_text"]
