"""Experiments driven over MCP: from a file to trials, answers and their attribution, with nothing paid for twice."""
