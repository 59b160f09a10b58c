"""Lost links: what continues, what is delivered again, what is reported."""

__all__: list[str] = []
