"""WHICH words do we share? Categories, regions, diagnoses, error types: data files, one loader."""

from overread.ontology.findings import FindingTree, finding_tree
from overread.ontology.lungs import LungAnatomy, lung_anatomy
from overread.ontology.modalities import Modalities, modalities
from overread.ontology.regions import XrayRegions, use_regions, xray_regions
from overread.ontology.terms import Terms, education_dimensions, report_regions, step_errors

__all__ = [
    "FindingTree",
    "LungAnatomy",
    "Modalities",
    "Terms",
    "XrayRegions",
    "education_dimensions",
    "finding_tree",
    "lung_anatomy",
    "modalities",
    "report_regions",
    "step_errors",
    "use_regions",
    "xray_regions",
]
