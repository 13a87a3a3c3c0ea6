"""From films with reports and region boxes to interleaved traces in the layout of MMRad-IVL."""

from overread.build.mmrad.asking import AUDIT, REFLECT
from overread.build.mmrad.films import film
from overread.build.mmrad.merging import merge
from overread.build.mmrad.pairs import PROMPT as PAIRS
from overread.build.mmrad.pairs import pairs
from overread.build.mmrad.record import INSTRUCTION, record
from overread.build.mmrad.release import release, splits
from overread.build.mmrad.source import items
from overread.build.mmrad.tracing import AGAIN, trace
from overread.build.mmrad.tracing import PROMPT as TRACE
from overread.build.mmrad.verification import audit, people, reflect
from overread.build.step import Gather, Recipe, Step

_KNOWN = ("report", "pairs", "boxes", "width", "height")

RECIPE = Recipe(
    name="mmrad",
    about="chest X-rays with reports and region boxes → interleaved traces of looks and words",
    items=items,
    steps=(
        Step(
            "film",
            film,
            about="is the picture there, do the boxes lie on it, are the regions known?",
            reads=("image", "report", "frame", "regions", "said"),
            roles=(),
            settings=("frame",),
        ),
        Step(
            "pairs",
            pairs,
            about="which sentence speaks of which regions",
            reads=("report", "boxes", "said"),
            prompts=(PAIRS,),
            settings=(),
        ),
        Step(
            "trace",
            trace,
            about="looks at regions, with what is said of them",
            reads=_KNOWN,
            prompts=(TRACE,),
            settings=(),
        ),
        Step(
            "reflect",
            reflect,
            about="stage 1: the generator traces its own sentences back",
            reads=(*_KNOWN, "trace", "verdicts"),
            prompts=(REFLECT, AGAIN),
            settings=("revisions",),
        ),
        Step(
            "audit",
            audit,
            about="stage 2: a second model holds the looks against report and boxes",
            reads=(*_KNOWN, "trace", "verdicts", "disputed"),
            prompts=(AUDIT, AGAIN),
            roles=("reader", "auditor"),
            settings=("revisions",),
        ),
        Step(
            "people",
            people,
            about="stage 3: people decide on what is still objected to",
            reads=(*_KNOWN, "image", "trace", "verdicts", "disputed"),
            roles=(),
            settings=("people",),
        ),
        Step(
            "merge",
            merge,
            about="looks and boxes merged into major regions",
            reads=("trace", "boxes"),
            roles=(),
            settings=("order", "boxes"),
        ),
        Step(
            "record",
            record,
            about="the interleaved record, read back as the benchmark does",
            reads=("rounds", "report", "image"),
            roles=(),
            settings=("instruction",),
        ),
        Gather(
            "splits",
            splits,
            about="train, val and test by patient",
            reads=("split",),
            roles=(),
            settings=("split",),
        ),
    ),
    release=release,
    benchmark="mmrad",
    settings={
        "frame": "",
        "order": "report",
        "boxes": "looked",
        "revisions": "1",
        "people": "ask",
        "split": "70/10/20",
        "instruction": INSTRUCTION,
    },
)
