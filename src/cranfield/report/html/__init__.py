"""A report to send to a colleague: one HTML file that holds everything it shows, and asks no server for anything."""

from cranfield.report.html.page import report

__all__ = ["report"]
