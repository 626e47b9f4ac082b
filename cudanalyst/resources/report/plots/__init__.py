"""The plots of a report. Each draws one figure with an accessible name; every number in them is also in a table."""
