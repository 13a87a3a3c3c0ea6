"""Our benchmarks as tasks of other evaluation frameworks."""
