"""Messages as bytes, encoded without the backend's codec."""

import proton

__all__ = ["text"]


def text(body: str, **fields: object) -> bytes:
    """A text message of a program that knows no JMS."""
    return bytes(proton.Message(body=body, **fields).encode())
