"""``python -m jmsbridge`` is the command line."""

from jmsbridge.cli import main

main()
