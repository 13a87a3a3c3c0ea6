"""HOW WELL was it found? The ReXGroundingCT mask scores, from files, without ever making arrays.

A mask file is read once, as runs of voxels (`runs`). Entities and connected components are
counted on the runs (`components`), matched by the official rule (`instances`) and by the
distances of the challenge page (`distances`, on `outlines` and `assd`). `measure` does it for
one case, `scores` holds the metrics, and every constant is in `settings`.
"""

from overread.metrics.masks.settings import MaskSettings

__all__ = ["MaskSettings"]
