"""Bridges: Cranfield's measures where other tools expect their own. Each module needs one package, and an extra."""
