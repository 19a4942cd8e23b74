"""Figures and causes out of recorded spans: pure, spans in, statements out."""
