"""Real brokers on this machine, for tests, benchmarks and users: ``python -m integration.lab --help``.

From Python, after ``python -m integration.lab fetch rabbitmq``::

    with starting.start("rabbitmq") as broker:         # integration.lab.starting
        url = broker.url()                             # rabbitmq://jb:jbpass@127.0.0.1:23672
        broker.restart(kill=True)                      # also kill(), purge(), admin.get("/api/queues"), ctl(…), stop()

In pytest: ``from integration.lab.fixtures import own_broker, rabbitmq`` in a conftest.py.
For users: ``docs/brokers.md``.
"""

from integration.lab.cli import app

if __name__ == "__main__":
    app(prog_name="python -m integration.lab")
