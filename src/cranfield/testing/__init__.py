"""What an implementation can be held against; nothing here needs pytest."""
