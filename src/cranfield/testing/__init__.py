"""Tests for other implementations; nothing here needs pytest."""
