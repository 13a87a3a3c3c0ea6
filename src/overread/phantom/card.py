"""The dataset card of a phantom: what it is, how it was made, how much there is, what it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from overread import __version__
from overread.benchmarks.rexgroundingct.release import SPLITS
from overread.ontology import findings
from overread.phantom.patient import Settings
from overread.phantom.statement import KINDS

_HEAD = """\
---
license: apache-2.0
pretty_name: overread phantom, chest CT
language: [en]
task_categories: [image-segmentation]
tags: [synthetic, medical, radiology, chest-ct, visual-grounding]
---

# overread phantom: chest CT in the layout of ReXGroundingCT

**Every patient here is synthetic.** Bodies, findings, sentences and reports were drawn by a
program. They are no one, were made from no one's scan or report, and show nothing real.

**For research and education only.** Not for diagnosis, treatment, triage or any other patient
care, and no evidence of how a reader does on real scans.

Licence: Apache-2.0, as overread itself. The layout is ReXGroundingCT's (arXiv 2507.22030), none of
its data are here.
"""

_LAYOUT = """\
## Layout

| file | what it holds |
|---|---|
| `dataset.json` | train, val and test: names, sentences, categories, entity and voxel counts |
| `images/NAME` | the CT, int16 HU, stored LPS |
| `segmentations/NAME` | uint8 (findings, H, W, D); each value is one entity |
| `anatomy/organs\\|lobes\\|segments/NAME` | uint8 labels in the CT's space |
| `anatomy/labels.json` | number → name, for each of the three |
| `anatomical_cot.json` | name → finding → steps from the whole scan to the lesion |
| `phantom.jsonl` | one line a patient: settings, habitus, statements, sentences, report |
| `../sources/rexgroundingct/reports.csv` | the raw reports, with CT-RATE's columns |

To whoever builds a data set from `sources/rexgroundingct`: the CTs are
`../../rexgroundingct/images`.

A step of a chain has a `level`, a `structure`, a `text`, which says no more than the statement
does, and a `box` [i0, j0, k0, i1, j1, k1] in the stored array, upper ends not included. Levels are
scan, lung, lobe, segment (where one or two are stated) and lesion, or scan, pleura and lesion;
structures are called as in `anatomy/labels.json`. `within` gives the numbers of the steps that a
step is reached from: their boxes together hold its box. A finding on both sides has a step for
each lung, one in several lobes a step for each. The lesion has the box of each of its `entities`
too. Where a finding reaches over the border of the places stated for it by a few voxels, the boxes
of these are widened to hold it.

In `phantom.jsonl`, `statement` is what the voxels bear out, `said` the fields of it that the
sentence gives away, `wording` what the sentence was made from, `voxels` those of each entity.
`beyond` is what the report tells besides lung and pleura; it has no mask, only its `centre` in
RAS+ millimetres.

Every entity of every finding is marked, in all splits, hence `protocol2` in all rows. The split
hangs on a patient's number alone: of ten, seven are train, one is val, two are test.

## Use

```sh
overread check rexgroundingct . --split all
overread show rexgroundingct . '#1' --truth
```

```python
import overread

release = overread.load("rexgroundingct", ".", split="train")
for entry in release.entries():
    print(entry.case.id, [finding.text for finding in entry.truth.findings])
```

## Limits

- Anatomy is built of simple shapes: vessels and airways end early, there is no contrast medium,
  no motion, no metal, no device, and no disease that changes the shape of the chest.
- Findings look as a textbook describes them. A reader that does well here has learnt that much and
  no more; one that does badly here has something to explain.
- What lies beyond lung and pleura is few, and in the report only.
- Sentences come from a list of wordings; part of it is held out (`--wordings held-out`), so that
  what was learnt by heart can be told from what was understood.
"""


def card(settings: Settings, lines: Sequence[Mapping[str, Any]]) -> str:
    """The card in Markdown, from the settings and the lines of `phantom.jsonl`."""
    return "\n".join((_HEAD, _made(settings, len(lines)), _counts(lines), _LAYOUT))


def _made(settings: Settings, patients: int) -> str:
    """The settings, and the command that makes the same again."""
    given = settings.model_dump(mode="json")
    options = " ".join(f"--{name} {value}" for name, value in given.items())
    rows = "".join(
        f"| {name} | {value} | {Settings.model_fields[name].description} |\n"
        for name, value in given.items()
    )
    return (
        "## How it was made\n\n"
        f"By overread {__version__} (numpy {version('numpy')}, scipy {version('scipy')}):\n\n"
        f"```sh\noverread phantom OUT --patients {patients} {options}\n```\n\n"
        f"| setting | value | meaning |\n|---|---|---|\n{rows}\n"
        "The same settings give the same bytes, in any order and with any number of workers, and\n"
        "a patient does not depend on how many there are.\n"
    )


def _counts(lines: Sequence[Mapping[str, Any]]) -> str:
    """Findings by category and split."""
    found = Counter(
        (finding["statement"]["category"], line["split"])
        for line in lines
        for finding in line["findings"]
    )
    scans = Counter(line["split"] for line in lines)
    names = findings().categories
    rows = [("patients", "", [scans[split] for split in SPLITS])]
    rows += [
        (f"findings {code}", names[code].name, [found[code, split] for split in SPLITS])
        for code in KINDS
    ]
    rows.append(("findings", "all", [sum(found[c, s] for c in KINDS) for s in SPLITS]))
    table = "".join(
        f"| {what} | {name} | {' | '.join(map(str, counts))} | {sum(counts)} |\n"
        for what, name, counts in rows
    )
    head = f"| | | {' | '.join(SPLITS)} | all |\n|---|---|{'---:|' * (len(SPLITS) + 1)}\n"
    return f"## How much there is\n\n{head}{table}"
