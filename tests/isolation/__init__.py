"""Two projects of one server, and everything with which one could reach the other.

This file makes the folder a package for pytest. Otherwise the fixtures with the scope `package`,
and the environment variables that they set, would last until the end of all tests.
"""
