"""Timing that can be trusted: a candidate against its problem's baseline, block by block, in one context."""
