"""Workers: processes that run tool calls of servers in their own checkouts of a repository.

A server sends a call over JetStream, and a worker with the same commit takes the call. The modules
import nats-py, so import this package only after the setting `bus.url` was found.
"""
