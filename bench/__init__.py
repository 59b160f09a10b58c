"""How fast it is on this machine: ``python -m bench [--write] [--quick]``.

``throughput`` measures the embedded broker through the facade, ``cost`` the facade alone on the scripted backend,
``file_broker`` the broker in a file beside ``file_peers``, ``file_depth`` what a deep queue costs in a file, ``memory``
whether a million messages leave anything
behind, ``report`` prints and writes the figures.
"""

__all__: list[str] = []
