"""An attribution for people: one self-contained HTML file, the same numbers as JSON, and tables for a terminal."""
