"""The interfaces of other tools on top of this package: they translate names and formats, and compute nothing."""
