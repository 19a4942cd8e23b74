"""The tool that hands questions to fresh sessions."""
