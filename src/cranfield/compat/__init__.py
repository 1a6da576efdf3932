"""Other tools' interfaces over this package's measures: names and formats are translated, nothing is computed anew."""
