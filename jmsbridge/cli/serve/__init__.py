"""``jmsbridge run``: worker processes that serve an application, and the process that supervises them."""

__all__: list[str] = []
