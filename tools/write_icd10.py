"""Write the ontology's ICD-10 titles and terms from the tabular list of ICD-10-CM.

python tools/write_icd10.py icd10cm-tabular.xml

The file is the XML that the National Center for Health Statistics publishes with each edition of
ICD-10-CM. Two files are written into `src/overread/ontology/data/icd10/`:

    titles.tsv  category → title, for those that the WHO's ICD-10 of 2019 has too
    terms.tsv   category → titles of its subcategories and what it includes, as names of diagnoses

Which categories the WHO has cannot be told from the American edition. Those that are American only
are named below; the WHO's own that America lacks are in `own_titles.tsv`, which no tool writes.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "overread" / "ontology" / "data" / "icd10"

AMERICAN = frozenset(
    """A90 A91 B10 B59 C4A C7A C7B D3A D49 D78 E08 E09 E36 G65 G89 I16 I1A I5A I75 I76 I96 J4A K68 K94
    K95 L49 L76 M04 M1A M26 M27 M97 N52 N53 N65 O09 O76 O77 O9A P09 P19 P84 QA0 R37 R88 R97 V00 W61 W62
    Y37 Y38 Y92 Y93 Y99 Z05 Z14 Z15 Z16 Z17 Z18 Z19 Z3A Z66 Z67 Z68 Z69 Z77 Z78 Z79""".split()
)
"""Categories that ICD-10-CM has and the WHO's ICD-10 of 2019 does not."""

HEAD = """# {what}
# Source: ICD-10-CM, tabular list, edition {edition}, of the National Center for Health Statistics and
# the Centers for Medicare & Medicaid Services: a work of the United States government, published for
# free use. The WHO made ICD-10, of which it is the American modification, and holds its copyright.
# Written by tools/write_icd10.py. One's own list in its place: the setting `icd` of the recipe.
"""

_VAGUE = re.compile(
    r"\b(?:other|unspecified|not elsewhere|elsewhere|classified|without|with or|NEC|type not|sites?|"
    r"right|left|bilateral|initial|subsequent|sequela|due to|following|in remission|relapse|"
    r"not having|classifiable|categor(?:y|ies)|any condition|"
    r"pregnancy|trimester|use disorder|induced|abuse|dependence|stage [0-9ivx]+)\b",
    re.IGNORECASE,
)
"""Words of a title that says more, or less, than a diagnosis."""


def clean_term(text: str) -> str | None:
    """A title as a diagnosis is called; None where nobody would call one so.

    >>> clean_term("Abscess of lung NOS"), clean_term("Cirrhosis of lung (chronic) NOS")
    ('Abscess of lung', 'Cirrhosis of lung')
    >>> clean_term("Other bacterial pneumonia") is None
    True
    """
    bare = re.sub(r"\s*\([^)]*\)|\s*\[[^]]*\]", "", text)
    bare = re.sub(r",? (?:NOS|unspecified)$", "", bare.strip()).strip(" ,;:.")
    if not bare or len(bare) > 60 or _VAGUE.search(bare) or len(bare) < 4:
        return None
    return bare


def synonyms_in(text: str) -> list[str]:
    """What stands in square brackets: another name, by the list's own convention.

    >>> synonyms_in("Crohn's disease [regional enteritis]"), synonyms_in("Lung abscess")
    (['regional enteritis'], [])
    """
    return re.findall(r"\[([^],]{3,60})\]", text)


def main(source: Path) -> None:
    """Write both files."""
    root = ET.parse(source).getroot()
    edition = root.findtext("version") or "unknown"
    titles: dict[str, str] = {}
    terms: dict[str, set[str]] = {}
    for one in root.iter("diag"):
        code, title = one.findtext("name") or "", one.findtext("desc") or ""
        category = code[:3]
        if category in AMERICAN:
            continue
        if len(code) == 3:
            titles[code] = title
        if code[0] not in "ABCDEFGHIJKLMNQ" or len(code) > 6:
            continue
        notes = [
            note.text or "" for kind in ("inclusionTerm", "includes") for note in one.iterfind(f"{kind}/note")
        ]
        for text in (title, *notes):
            for name in (clean_term(text), *map(clean_term, synonyms_in(text))):
                if name is not None:
                    terms.setdefault(name, set()).add(category)
    listed = [f"{code}\t{title}\n" for code, title in sorted(titles.items())]
    head = HEAD.format(what="Titles of the three-character categories of ICD-10.", edition=edition)
    (FOLDER / "titles.tsv").write_text(head + "".join(listed), "utf-8")
    # A name in two categories tells neither.
    sure = sorted((min(codes), name) for name, codes in terms.items() if len(codes) == 1)
    sure = [(code, name) for code, name in sure if titles.get(code) != name]
    head = HEAD.format(what="Names of diagnoses in the categories of ICD-10: of its parts.", edition=edition)
    (FOLDER / "terms.tsv").write_text(head + "".join(f"{code}\t{name}\n" for code, name in sure), "utf-8")
    print(f"{len(listed)} titles, {len(sure)} terms")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the tabular list of ICD-10-CM, an XML file")
    main(Path(sys.argv[1]))
