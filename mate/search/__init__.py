"""The online phase: prepare a query, search segment after segment with a system, rank, describe, join."""
