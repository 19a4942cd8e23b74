"""Shell commands of a model: what they run, how they run, and how their output is kept."""
