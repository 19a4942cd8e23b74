"""Configuration: the settings, their sources, and the precedence of these sources.

A source is called a layer: the user's file, the repository's file, the environment, or the flags of
a command. `model` contains the settings, and `loader.load` merges the layers. This file imports
nothing, so that commands without configuration start fast.
"""
