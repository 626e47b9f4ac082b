"""Randomised delivery in ordinary use: what is drawn, what came of it, and the effect of offering each component."""
