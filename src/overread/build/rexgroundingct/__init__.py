"""Reports and CTs → sentences with 3D masks, the way ReXGroundingCT was made, model or not."""

from overread.build.rexgroundingct import (
    categories,
    chain_step,
    mask_step,
    phrase_step,
    regions,
    reports,
    sentences,
    tasks,
)
from overread.build.rexgroundingct.release import write_release
from overread.build.rexgroundingct.settings import SETTINGS
from overread.build.step import BatchStep, ItemStep, Recipe

_FILES = ("cts", "masks")

RECIPE = Recipe(
    name="rexgroundingct",
    about="reports and chest CTs → one sentence and one 3D mask a finding",
    items=reports.items,
    settings=SETTINGS,
    steps=(
        ItemStep(
            "split",
            sentences.split_report,
            about="cut the report into sentences F0 … and I0 …",
            reads=("findings", "impressions"),
            roles=(),
            settings=(),
        ),
        ItemStep(
            "sort",
            regions.sort_sentences,
            about="rewrite, and sort into seven regions; no sentence and no number may be lost",
            reads=("sentences",),
            prompts=(regions.PROMPT,),
            settings=("wording",),
        ),
        ItemStep(
            "extract",
            phrase_step.extract_phrases,
            about="take out one phrase a finding, with its sentences and flags",
            reads=("coded",),
            prompts=(phrase_step.PROMPT,),
            settings=(),
        ),
        ItemStep(
            "positives",
            phrase_step.keep_positives,
            about="keep the phrases that are abnormal",
            reads=("phrases",),
            roles=(),
            settings=(),
        ),
        ItemStep(
            "categorise",
            categories.categorise,
            about="give each phrase a category of the ontology",
            reads=("positives",),
            prompts=(categories.PROMPT,),
            settings=(),
        ),
        ItemStep(
            "choose",
            categories.select_scan,
            about="keep scans by the categories they have",
            reads=("positives", "categories"),
            roles=(),
            settings=("scope", "others", "annotate"),
        ),
        ItemStep(
            "assign-split",
            categories.assign_split,
            about="train, val or test, by patient",
            reads=(),
            roles=(),
            settings=("splits",),
        ),
        BatchStep(
            "annotation-tasks",
            tasks.write_tasks,
            about="write tasks for annotators",
            reads=("name", "targets"),
            roles=(),
            settings=("cts", "task-formats", "protocol"),
            external_state=tasks.scan_state,
        ),
        ItemStep(
            "masks",
            mask_step.collect_masks,
            about="take masks back and check them against the CT",
            reads=("name", "targets"),
            roles=(),
            settings=_FILES,
            external_state=mask_step.files_state,
        ),
        ItemStep(
            "chain",
            chain_step.make_chains,
            about="scan → lung → lobe → segment → lesion, with boxes",
            reads=("name", "targets", "annotated", "mask"),
            prompts=(chain_step.PROMPT,),
            settings=(*_FILES, "organs"),
            external_state=chain_step.organs_state,
        ),
    ),
    release=write_release,
    benchmark="rexgroundingct",
)
