"""Speed, memory and quality of what MATE is made of, beside its peers in the same run."""
