"""The contract that tools implement, the registry and the executor.

The package defines no tools.
"""
