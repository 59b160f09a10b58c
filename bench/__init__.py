"""Measures speed on this machine: ``python -m bench [--write] [--quick]``.

``throughput`` measures the embedded broker through the facade, ``cost`` the facade alone on the scripted backend,
``file_broker`` the broker in a file, compared with ``file_peers``, ``file_depth`` deep queues in a file, ``memory``
whether a million messages leave memory behind; ``report`` prints and writes the figures.
"""

__all__: list[str] = []
