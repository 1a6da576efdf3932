"""Figures for papers, one file each; Matplotlib is loaded only when one is drawn."""
