"""Tables to an index, on Spark: stage (read, tokenise), dictionary, keys (hash, OR, post), publish."""
