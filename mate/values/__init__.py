"""Raw cell to token to number: the one normalisation, and what native loops read."""
