"""One module per engine, each implementing `harness.protocol.Engine`; nothing else lives here.

An adapter module imports its engine only inside the engine class's constructor, so that its
metadata (options, distribution) can be read without the engine being installed.
"""
