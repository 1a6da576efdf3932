"""A package, so that one of this name in an environment does not stand in its way."""
