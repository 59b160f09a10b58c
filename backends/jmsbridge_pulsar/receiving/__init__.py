"""Receiving: consumers and readers, settlements, browsing."""
