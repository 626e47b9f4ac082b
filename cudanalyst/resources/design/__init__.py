"""An experiment on paper: the file that describes it, what it will cost, and the lock that holds its authors to it."""
