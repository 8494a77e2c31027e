"""The online phase: query, bounds, engine, ranking, joins."""
