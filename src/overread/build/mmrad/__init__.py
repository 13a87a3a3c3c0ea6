"""From films with reports and region boxes to interleaved traces in the layout of MMRad-IVL."""

from overread.build.mmrad.image_check import check_image
from overread.build.mmrad.interleaved_row import INSTRUCTION, make_record
from overread.build.mmrad.model_verdicts import AUDIT, REFLECT
from overread.build.mmrad.pairs import PROMPT as PAIRS
from overread.build.mmrad.pairs import find_pairs
from overread.build.mmrad.release import assign_splits, write_release
from overread.build.mmrad.rounds import merge_looks
from overread.build.mmrad.source import items
from overread.build.mmrad.trace_looks import PROMPT as TRACE
from overread.build.mmrad.trace_looks import REVISE_PROMPT, write_trace
from overread.build.mmrad.verification import ask_people, audit, reflect
from overread.build.step import BatchStep, ItemStep, Recipe

_KNOWN = ("report", "pairs", "boxes", "width", "height")

RECIPE = Recipe(
    name="mmrad",
    about="chest X-rays with reports and region boxes → interleaved traces of looks and words",
    items=items,
    steps=(
        ItemStep(
            "film",
            check_image,
            about="is the picture there, do the boxes lie on it, are the regions known?",
            reads=("image", "report", "frame", "regions", "said"),
            roles=(),
            settings=("frame",),
        ),
        ItemStep(
            "pairs",
            find_pairs,
            about="which sentence speaks of which regions",
            reads=("report", "boxes", "said"),
            prompts=(PAIRS,),
            settings=(),
        ),
        ItemStep(
            "trace",
            write_trace,
            about="looks at regions, with what is said of them",
            reads=_KNOWN,
            prompts=(TRACE,),
            settings=(),
        ),
        ItemStep(
            "reflect",
            reflect,
            about="stage 1: the generator traces its own sentences back",
            reads=(*_KNOWN, "trace", "verdicts"),
            prompts=(REFLECT, REVISE_PROMPT),
            settings=("revisions",),
        ),
        ItemStep(
            "audit",
            audit,
            about="stage 2: a second model holds the looks against report and boxes",
            reads=(*_KNOWN, "trace", "verdicts", "disputed"),
            prompts=(AUDIT, REVISE_PROMPT),
            roles=("reader", "auditor"),
            settings=("revisions",),
        ),
        ItemStep(
            "people",
            ask_people,
            version=2,
            about="stage 3: people decide on what is still objected to",
            reads=(*_KNOWN, "image", "trace", "verdicts", "disputed"),
            roles=(),
            settings=("people",),
        ),
        ItemStep(
            "merge",
            merge_looks,
            about="looks and boxes merged into major regions",
            reads=("trace", "boxes"),
            roles=(),
            settings=("order", "boxes"),
        ),
        ItemStep(
            "record",
            make_record,
            about="the interleaved record, read back as the benchmark does",
            reads=("rounds", "report", "image"),
            roles=(),
            settings=("instruction",),
        ),
        BatchStep(
            "splits",
            assign_splits,
            about="train, val and test by patient",
            reads=("split",),
            roles=(),
            settings=("split",),
        ),
    ),
    release=write_release,
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
