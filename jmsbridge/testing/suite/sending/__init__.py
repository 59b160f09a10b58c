"""Producers: order, completions, delivery modes, times, groups."""

__all__: list[str] = []
