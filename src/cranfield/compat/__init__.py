"""The interfaces of other tools on top of this package: names, formats, and trec_eval's numbers to the last digit."""
