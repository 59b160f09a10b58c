"""Sending: producers and the outcome of each message."""
