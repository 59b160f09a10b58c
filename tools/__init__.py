"""Tools that check and generate parts of the checkout; not in the wheel."""

__all__: list[str] = []
