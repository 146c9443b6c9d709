"""Figures: each is declared once; matplotlib draws it as SVG and as PDF."""
