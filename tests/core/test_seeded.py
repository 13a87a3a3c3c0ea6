"""Draws by hash: what was drawn in stored results is drawn again."""

from __future__ import annotations

from overread.core.seeded import draw_split, hash_number, hash_seed, hash_share


def test_draws_are_those_of_stored_results() -> None:
    """Numbers, shares and seeds of releases and runs that were made before."""
    assert hash_number("case1") == 4106401598910199523
    assert hash_share(7, "patient 1") == 0.6645484637491169
    assert hash_share(7, "patient 1", "split", size=7) == 0.5267829532716143
    assert hash_seed(7, "case1", 0) == 251916637


def test_shares_of_splits_are_filled_in_their_order() -> None:
    """Zero shares get nobody, even where the others do not quite make one."""
    shares = {"train": 0.7, "val": 0.1, "test": 0.2}
    drawn = [draw_split(hash_share(0, str(n)), shares) for n in range(5000)]
    assert all(abs(drawn.count(split) / 5000 - share) < 0.03 for split, share in shares.items())
    assert draw_split(0.99999, {"train": 0.5, "val": 0.49, "test": 0.0}) == "val"
