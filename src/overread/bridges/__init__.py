"""WHO else speaks our language? Our benchmarks inside other people's engines."""
