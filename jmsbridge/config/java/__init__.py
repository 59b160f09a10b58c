"""Java messaging configuration as a profile: ``jndi.properties``, Spring Boot's files, the clients' URLs.

``import_text`` neither reads files nor opens connections. ``rules`` applies the tables of options, which are in one
module per client; ``jndi`` and ``spring`` read the two kinds of files.
"""

from jmsbridge.config.java.model import CLIENTS, Imported, Note
from jmsbridge.config.java.reading import KINDS, import_text, settings_of

__all__ = ["CLIENTS", "KINDS", "Imported", "Note", "import_text", "settings_of"]
