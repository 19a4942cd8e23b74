"""The connection to NATS, and the names of the subjects and streams that Treadle uses there.

The library nats-py is part of the extra `treadle[team]`. Modules import it only in the functions
that open a connection, because Treadle works without it.
"""
