"""What people take along: trials, numbers, games and whole experiments in formats that other tools read."""
