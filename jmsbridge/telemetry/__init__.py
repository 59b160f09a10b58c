"""Spans and metrics by OpenTelemetry, for connections with the option ``telemetry``; needs the extra ``otel``.

Names are those of OpenTelemetry's semantic conventions for messaging. Without the option nothing of this is loaded.
"""

__all__: list[str] = []
