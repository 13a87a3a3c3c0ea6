"""Compute the weights of phantom/population.toml from its shares and lifts; prints them.

Findings that come together pull each other up, so weights equal to the shares would overshoot.
Each round draws a population and scales every weight by how far its share was off.

    .venv/bin/python tools/calibrate_mix.py
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from overread.phantom import population

PATIENTS, ROUNDS = 40_000, 8


def main() -> None:
    """Print the calibrated weights as TOML, and how far off the last round was."""
    facts = population.load_population_tables()
    total = sum(facts["shares"].values())
    wanted = {name: share / total for name, share in facts["shares"].items()}
    for number in range(ROUNDS):
        population._category_weights.cache_clear()
        rng = np.random.default_rng(number)
        seen = Counter(plan.category for _ in range(PATIENTS) for plan in population.draw_plans(rng))
        count = sum(seen.values())
        off = sum(abs(seen[name] / count - share) for name, share in wanted.items()) / 2
        print(f"# round {number + 1}: {off:.4f} of the findings in the wrong category")
        for name, share in wanted.items():
            facts["weights"][name] *= share / max(seen[name] / count, 1e-5)
    largest = max(facts["weights"].values())
    print("[weights]")
    for name, weight in facts["weights"].items():
        print(f"{name} = {2000 * weight / largest:.1f}")


if __name__ == "__main__":
    main()
