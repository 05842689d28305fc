"""Graph search, lattices, word times and scoring."""
