"""Diagnosis of recorded runs: detectors of faults in spans, and the report about a set of spans."""

import treadle.traces  # noqa: F401  # the store still imports the detectors, so it is loaded first
