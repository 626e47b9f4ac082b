"""Inference on linear effects: arrays in, arrays out; no file, clock or global random state."""
