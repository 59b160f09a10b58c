"""Which private names of pika are needed, and the error for a pika that lacks one."""

import subprocess
import sys

import pika
import pytest

from jmsbridge_rabbitmq.connection import pika_inside

_OTHER_PIKA = """
import pika
from pika.adapters.base_connection import BaseConnection
from pika.connection import Connection

pika.__version__ = "1.99.0"
for owner in (pika.SelectConnection, BaseConnection, Connection):
    if {name!r} in vars(owner):
        delattr(owner, {name!r})
import jmsbridge

try:
    jmsbridge.connect("rabbitmq://127.0.0.1:1")
except jmsbridge.ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize("name", pika_inside.NEEDED)
def test_without_a_name_the_backend_says_what_pika_lacks(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OTHER_PIKA.format(name=name)], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    assert f"pika 1.99.0 has no SelectConnection.{name}; install pika 1.3.0 to 1.4.4" in done.stdout
    assert "jmsbridge[rabbitmq]" in done.stdout


def test_several_missing_names_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pika_inside, "NEEDED", ("channel", "_first", "_second"))
    with pytest.raises(
        ImportError, match=rf"^pika {pika.__version__} has no SelectConnection\._first, SelectConnection\._second;"
    ):
        pika_inside.check_pika()
