"""Features that the client emulates if the broker lacks them, at the price that ``jmsbridge.config.features`` states.

``unmatched``: selectors on queues. ``browsing``: queue browsers. ``delaying``: delivery delays.
"""

__all__: list[str] = []
