"""Runs of other systems as frozen states: their programs are taken, their measurements kept as claims."""
