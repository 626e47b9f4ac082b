"""Which feedback helped: exact indices, estimates with intervals, and ground truth to test them against."""
