"""Makes `study_samples` importable for the tests of every study."""
