"""File formats, one module each; `cranfield.io.detect` finds every module of this folder through its ``FORMATS``."""
