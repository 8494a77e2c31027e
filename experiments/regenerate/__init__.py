"""The experiments of the paper's section 7, one module each, named after what it regenerates."""
