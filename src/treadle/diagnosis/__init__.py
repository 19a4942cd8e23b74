"""Diagnosis of recorded spans: detectors of faults, and the report on a set of spans."""
