"""How fast it is on this machine: ``python -m bench [--write] [--quick]``.

``throughput`` measures the embedded broker through the facade, ``cost`` the facade alone on the scripted backend,
``file_broker`` the broker in a file beside ``file_peers``, ``memory`` whether a million messages leave anything
behind, ``report`` prints and writes the figures.
"""

__all__: list[str] = []
