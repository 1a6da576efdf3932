"""The HTML report: one file that needs no network."""

from cranfield.report.html.page import report

__all__ = ["report"]
