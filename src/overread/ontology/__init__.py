"""WHICH words do we share? Categories, regions, modalities, error types: data files, one loader."""

from overread.ontology.findings import FindingTree, findings
from overread.ontology.lungs import Lungs, lungs
from overread.ontology.modalities import Modalities, modalities
from overread.ontology.regions import XrayRegions, use_regions, xray_regions
from overread.ontology.terms import Terms, education, report_regions, step_errors

__all__ = [
    "FindingTree",
    "Lungs",
    "Modalities",
    "Terms",
    "XrayRegions",
    "education",
    "findings",
    "lungs",
    "modalities",
    "report_regions",
    "step_errors",
    "use_regions",
    "xray_regions",
]
