"""The labelling page: what Label Studio shows of a case, and what people can do with it."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from overread.core import Case
from overread.ontology import xray_regions

PICTURE, ANSWER, REPORT, WORDS, PLACE, BRUSH = "picture", "answer", "report", "words", "place", "brush"
"""Names of the parts of the page, by which results say what they are."""

FINDING = "finding "
"""What the label of a brush begins with, before the key of the finding."""


def labelling_page(cases: Iterable[Case], places: Iterable[str] = ()) -> str:
    """The page for cases like these: options to choose from, sentences to brush, or places to box.

    `places` are names of places beside those of the ontology.
    """
    chooses = asks = brushes = boxes = False
    keys: dict[str, None] = {}
    for case in cases:
        chooses |= bool(case.options)
        brushes |= bool(case.queries)
        asks |= case.asks == "answer"
        boxes |= not case.options and not case.queries
        keys |= dict.fromkeys(query.id for query in case.queries)
    lines = ["<View>", '  <Text name="case" value="$text"/>']
    if brushes:
        lines.append(f'  <BrushLabels name="{BRUSH}" toName="{PICTURE}">')
        lines += [f"    <Label value={quoteattr(FINDING + key)}/>" for key in keys]
        lines.append("  </BrushLabels>")
    if boxes:
        names = dict.fromkeys([*xray_regions().names, *places])
        lines.append(f'  <RectangleLabels name="{PLACE}" toName="{PICTURE}">')
        lines += [f"    <Label value={quoteattr(name)}/>" for name in names]
        lines.append("  </RectangleLabels>")
    lines.append(f'  <Image name="{PICTURE}" valueList="$images" zoom="true"/>')
    if boxes:
        lines.append(
            f'  <TextArea name="{WORDS}" toName="{PICTURE}" perRegion="true" placeholder="What is seen"/>'
        )
    if chooses:
        lines.append(f'  <Choices name="{ANSWER}" toName="{PICTURE}" value="$options" layout="vertical"/>')
    elif asks:
        lines.append(f'  <TextArea name="{ANSWER}" toName="{PICTURE}" rows="2" placeholder="Answer"/>')
    if not brushes:
        hint = "Why" if chooses else "Report"
        lines.append(f'  <TextArea name="{REPORT}" toName="{PICTURE}" rows="6" placeholder="{hint}"/>')
    return "\n".join([*lines, "</View>"]) + "\n"
