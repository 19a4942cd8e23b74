"""Text forms of diffs, traces and streamed Markdown that all terminal front ends share."""
