"""A protocol stand-in: speaks Vertica's wire protocol to the real vertica-python client and executes on DuckDB.

It is not Vertica and proves nothing about one. What it is for: the code that talks to a server runs from end to end,
with real sockets, sessions, transactions, COPY streams and typed errors. How far it behaves like a server is measured
by vertica-python's own integration tests (`tests/vertica/test_calibration.py`).
"""

from tests.vertica.standin.server import StandIn

__all__ = ["StandIn"]
