"""The fault run: producers and consumers in processes of their own, a broker that is cut off and killed, and a verdict.

    python -m integration.faults --messages 100000 --cuts 50 --kills 5 --restarts 25 rabbitmq
    python -m integration.faults --messages 10000 --cuts 10 rabbitmq://jb:jbpass@127.0.0.1:5672

Every process writes down what it did before and after each step (``ledger``); the verdict (``verdict``) is reached from
these files alone: nothing confirmed is lost, nothing comes twice unless a confirmation or a settlement was in doubt,
and completion callbacks came in the order of the sends.
"""

__all__: list[str] = []
