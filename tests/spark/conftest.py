import importlib.util

import msgspec
import pytest

import jmsbridge
from jmsbridge.spark.options import ReadOptions

# The log and the columns are Arrow's, and jobs are those of pyspark, which only the extra `spark` brings:
# `make test-spark` runs their tests.
_NAMES = "log lost_links power_loss receiving rows sending showing staging stopping stream"
collect_ignore = [] if importlib.util.find_spec("pyarrow") else [f"test_{name}.py" for name in _NAMES.split()]


@pytest.fixture
def by_reference(options: ReadOptions) -> ReadOptions:
    """Options that identify messages by a property, and five messages: one without it, and two with an empty text."""
    with jmsbridge.connect(options.url) as connection:
        session = connection.create_session()
        queue = session.create_queue("orders")
        connection.admin.purge(queue)
        producer = session.create_producer(queue)
        for reference in (None, "", "x", "", "x"):
            message = session.create_text_message(repr(reference))
            if reference is not None:
                message.set_string_property("reference", reference)
            producer.send(message)
    return msgspec.structs.replace(options, id_property="reference")
