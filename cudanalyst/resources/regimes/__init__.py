"""What each regime gives to whom: plans and evidence in full, as digests, misaligned, transferred, or none."""
