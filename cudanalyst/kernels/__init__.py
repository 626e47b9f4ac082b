"""What there is to optimise: problems as data folders, their inputs, references, tolerances and edit books."""
