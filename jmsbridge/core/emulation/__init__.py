"""What a broker may lack and the client does instead, at the price that ``jmsbridge.core.plan`` states.

``unmatched``: a selector on a queue. ``browsing``: looking at a queue. ``delaying``: a delivery delay.
"""

__all__: list[str] = []
