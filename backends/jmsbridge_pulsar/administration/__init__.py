"""Administration by the brokers' REST interface."""
