"""Figures: each is data; vega.py draws it as SVG and as PDF, by Vega-Lite."""
