"""Ordinary use looked back on: what was seen before each decision, what it cites, what followed and what it cost."""
