"""Configuration: the settings, their sources, and the precedence of layers.

`model` contains the settings, `loader.load` merges the layers. This package imports nothing, so
that commands without configuration start fast.
"""
