"""A message as plain values and back, nothing lost: headers, typed properties, every kind of body.

The JSON lines of the command line and the rows of Spark are both made of these; ``docs/cli.md`` describes the form.
"""

from jmsbridge.documents.columns import delivery_counts, header_columns, property_values, size_of
from jmsbridge.documents.names import destination_named
from jmsbridge.documents.reading import BadDocument, Outgoing, from_document, set_properties
from jmsbridge.documents.values import from_base64, from_json, to_base64, to_json
from jmsbridge.documents.writing import body_of, headers_of, kind_of, properties_of, to_document

__all__ = [
    "BadDocument",
    "Outgoing",
    "body_of",
    "delivery_counts",
    "destination_named",
    "from_base64",
    "from_document",
    "from_json",
    "header_columns",
    "headers_of",
    "kind_of",
    "properties_of",
    "property_values",
    "set_properties",
    "size_of",
    "to_base64",
    "to_document",
    "to_json",
]
