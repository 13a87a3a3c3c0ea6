"""Raw teaching cases → a diagnosis exam that needs its pictures, in the layout of MedThinkVQA."""

from __future__ import annotations

from overread.build.medthinkvqa.admission import admit, clean_texts
from overread.build.medthinkvqa.discussion import prune_discussion
from overread.build.medthinkvqa.icd import classify
from overread.build.medthinkvqa.leaks import handle_leaks
from overread.build.medthinkvqa.modality import find_modalities
from overread.build.medthinkvqa.options import assign_letters, choose_five, find_tempting
from overread.build.medthinkvqa.picture_state import pictures_state
from overread.build.medthinkvqa.probes import run_probes
from overread.build.medthinkvqa.release import write_release
from overread.build.medthinkvqa.settings import SETTINGS, files_state
from overread.build.medthinkvqa.source import TEXTS, items
from overread.build.medthinkvqa.splits import assign_splits
from overread.build.medthinkvqa.timepoints import find_timepoints
from overread.build.step import BatchStep, ItemStep, Recipe

_CASE = ("history", "differential", "final_diagnosis", "options")

RECIPE = Recipe(
    name="medthinkvqa",
    about="raw teaching cases with differentials → a diagnosis exam that needs its pictures",
    items=items,
    steps=(
        ItemStep(
            "texts",
            clean_texts,
            about="texts are cleaned; history, diagnosis and pictures must be there",
            reads=(*TEXTS, "differential", "images"),
            roles=(),
            settings=("pictures",),
            external_state=pictures_state,
        ),
        ItemStep(
            "eligible",
            admit,
            about="at least five different diagnoses, the right one among them",
            reads=("differential", "final_diagnosis"),
            roles=(),
            settings=("least-differentials",),
        ),
        ItemStep(
            "tempting",
            find_tempting,
            about="the wrong diagnosis that a model falls for, pictures and all, is kept as an option",
            reads=("history", "differential", "final_diagnosis", "images"),
            prompts=("choose", "choose-no-pictures"),
            settings=("evaluator", "pictures"),
            external_state=pictures_state,
        ),
        BatchStep(
            "options",
            choose_five,
            about="five options a case, lengths balanced over all cases",
            reads=("differential", "final_diagnosis", "tempting"),
            roles=(),
            settings=(),
        ),
        ItemStep(
            "leaks",
            handle_leaks,
            about="histories that name a diagnosis, in three levels",
            reads=_CASE,
            prompts=("build-med-leaks",),
            settings=("leaks", "leak-levels", "leak-about", "synonyms"),
            external_state=files_state,
        ),
        ItemStep(
            "probes",
            run_probes,
            about="cases that can be solved without their pictures",
            reads=_CASE,
            prompts=("build-med-probe", "build-med-probe-options"),
            roles=("probe-*",),
            settings=("remove", "probe-groups", "proof", "synonyms"),
            external_state=files_state,
        ),
        ItemStep(
            "discussion",
            prune_discussion,
            about="sentences on what is no option, on figures and other cases are cut",
            reads=("discussion", "differential", "final_diagnosis", "options"),
            prompts=("build-med-prune",),
            settings=("synonyms",),
            external_state=files_state,
        ),
        ItemStep(
            "icd",
            classify,
            about="an ICD-10 category; block and chapter are looked up",
            reads=("final_diagnosis", "imaging_findings", "icd"),
            prompts=("build-med-icd",),
            settings=("icd", "synonyms"),
            external_state=files_state,
        ),
        ItemStep(
            "times",
            find_timepoints,
            about="several time points, only with words that say so",
            reads=("history", "imaging_findings", "images", "interval"),
            prompts=("build-med-times",),
            settings=(),
        ),
        ItemStep(
            "modalities",
            find_modalities,
            about="the modality of each picture: DICOM tags, the source, its caption, a model",
            reads=("images",),
            prompts=("build-med-modality",),
            settings=("pictures",),
            external_state=pictures_state,
        ),
        BatchStep(
            "splits",
            assign_splits,
            about="train or test, by the patient",
            reads=(),
            roles=(),
            settings=("test-share",),
        ),
        BatchStep(
            "letters",
            assign_letters,
            about="letters A to E, each right as often as the others in its split",
            reads=("split", "options", "differential", "final_diagnosis"),
            roles=(),
            settings=(),
        ),
    ),
    release=write_release,
    benchmark="medthinkvqa",
    settings=SETTINGS,
)
