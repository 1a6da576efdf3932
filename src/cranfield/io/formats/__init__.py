"""File formats, one module each; `cranfield.io.streams` finds every module of this folder through its ``FORMATS``."""
