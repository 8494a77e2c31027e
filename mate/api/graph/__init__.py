"""The graph of a lake: which tables join with which, and which are copies of each other."""
