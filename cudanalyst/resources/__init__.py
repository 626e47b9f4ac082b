"""What is remembered: store, events, checkpoints, trials, attribution, reports."""
