"""Tables to an index: find sources, cut large files, stage (read, tokenise), count tokens, write segments, publish."""
