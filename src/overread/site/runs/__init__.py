"""HOW did readers do? Runs, scores, cases, comparisons, sweeps, audits."""
