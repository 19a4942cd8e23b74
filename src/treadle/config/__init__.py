"""Configuration: what can be set, where values come from, and which layer wins.

`model` holds the settings, `loader.load` joins the layers. Nothing is imported here, so that a
command which needs no configuration does not pay for it.
"""
