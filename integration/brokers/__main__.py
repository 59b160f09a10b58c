"""``python -m integration.brokers``."""

from integration.brokers.cli import app

if __name__ == "__main__":
    app(prog_name="python -m integration.brokers")
