"""Places, numbers and grades: each in the right words, each with the right thing."""

from __future__ import annotations

import pytest

from overread.language.regions import xray_regions_of
from overread.language.statements import Statement, find_statements
from overread.ontology import xray_regions

RUL, RML, RLL, LUL, LLL = "RUL", "RML", "RLL", "LUL", "LLL"
# Words for a place → side, lobes, segments.
PLACES: list[tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = [
    ("the right lung", "right", (), ()),
    ("both lungs", "both", (), ()),
    ("the right upper lobe", "right", (RUL,), ()),
    ("the RUL", "right", (RUL,), ()),
    ("the RLL and LLL", "both", (RLL, LLL), ()),
    ("the middle lobe", "right", (RML,), ()),
    ("both lower lobes", "both", (RLL, LLL), ()),
    ("the bilateral lower lobes", "both", (RLL, LLL), ()),
    ("the lower lobes of both lungs", "both", (RLL, LLL), ()),
    ("the right and left lower lobes", "both", (RLL, LLL), ()),
    ("the right upper and middle lobes", "right", (RUL, RML), ()),
    ("the right upper and left lower lobes", "both", (RUL, LLL), ()),
    ("the right upper, right middle and left lower lobes", "both", (RUL, RML, LLL), ()),
    ("the middle lobe of the right lung and the upper lobe of the left lung", "both",
     (RML, LUL), ()),
    ("the right lung middle lobe and the upper and lower lobes of the left lung", "both",
     (RML, LUL, LLL), ()),
    ("the left lung and the right upper lobe", "both", (RUL,), ()),
    ("the right lung upper and lower lobes", "right", (RUL, RLL), ()),
    ("the lingula", "left", (LUL,), ("LS4", "LS5")),
    ("the superior segment of the lingula", "left", (LUL,), ("LS4",)),
    ("the superior and inferior lingular segments", "left", (LUL,), ("LS4", "LS5")),
    ("the inferior lingular segment of the left upper lobe", "left", (LUL,), ("LS5",)),
    ("the left lung upper lobe apicoposterior segment", "left", (LUL,), ("LS1+2",)),
    ("the posterior basal segment of the right lower lobe", "right", (RLL,), ("RS10",)),
    ("the posterobasal segment of the right lung", "right", (RLL,), ("RS10",)),
    ("the medial and posterior basal segments of the right lower lobe", "right", (RLL,),
     ("RS7", "RS10")),
    ("the right upper lobe apical and posterior segments", "right", (RUL,), ("RS1", "RS2")),
    ("the anterior and posterior segments of the upper lobe of the right lung", "right", (RUL,),
     ("RS2", "RS3")),
    ("the left lung upper lobe inferior lingular and lower lobe superior segments", "left",
     (LUL, LLL), ("LS5", "LS6")),
    ("the posterobasal segments of both lower lobes", "both", (RLL, LLL), ("RS10", "LS10")),
    ("the anteromediobasal segment of the left lower lobe", "left", (LLL,), ("LS7+8",)),
    ("the medial segment of the right middle lobe", "right", (RML,), ("RS5",)),
    ("the anterior part of the right upper lobe", "right", (RUL,), ()),
    ("the right lower lung zone", "right", (), ()),
]  # fmt: skip


@pytest.mark.parametrize(("words", "side", "lobes", "segments"), PLACES)
def test_places(words: str, side: str | None, lobes: tuple[str, ...], segments: tuple[str, ...]) -> None:
    """In every order, before and behind the thing, with its characters."""
    for text in (f"There is a nodule in {words}.", f"In {words}, a nodule is observed."):
        (one,) = find_statements(text)
        assert (one.side, one.lobes, one.segments) == (side, lobes, segments)
        for name in ("side", "lobes", "segments"):
            if getattr(one, name):
                assert one.evidence[name].extract(text) in words


@pytest.mark.parametrize(
    ("text", "zones", "side"),
    [
        ("Opacity in the right lower lung zone", ("lower",), "right"),
        ("Opacity in the left mid lung", ("mid",), "left"),
        ("Opacities in the upper and lower zones of both lungs", ("upper", "lower"), "both"),
        ("Left upper lung opacity", ("upper",), "left"),
        ("Nodule in the right lower lobe", (), "right"),
        ("Right lower paratracheal lymph node", (), "right"),
    ],
)
def test_zones_are_no_lobes(text: str, zones: tuple[str, ...], side: str) -> None:
    """A third of a radiograph is not a lobe; "lower" alone is neither."""
    (one,) = find_statements(text)
    assert (one.zones, one.side) == (zones, side)
    assert bool(one.lobes) == ("lobe" in text)


# Text → observation → field → (value, the characters that tell it).
TIES: list[tuple[str, dict[str, dict[str, tuple[object, str]]]]] = [
    ("Mild emphysema and large effusion", {
        "emphysema": {"severity": ("mild", "Mild")},
        "pleural effusion": {"severity": ("severe", "large")}}),
    ("Right effusion and left pneumothorax", {
        "pleural effusion": {"side": ("right", "Right")},
        "pneumothorax": {"side": ("left", "left")}}),
    ("Effusion on the right, consolidation on the left", {
        "pleural effusion": {"side": ("right", "right")},
        "consolidation": {"side": ("left", "left")}}),
    ("Effusion on the right and left pneumothorax", {
        "pleural effusion": {"side": ("right", "right")},
        "pneumothorax": {"side": ("left", "left")}}),
    ("Consolidation with a small effusion on the right", {
        "consolidation": {"side": ("right", "right"), "severity": (None, "")},
        "pleural effusion": {"side": ("right", "right"), "severity": ("mild", "small")}}),
    ("Consolidation and mild effusion in the left hemithorax", {
        "consolidation": {"side": ("left", "left"), "severity": (None, "")},
        "pleural effusion": {"side": ("left", "left"), "severity": ("mild", "mild")}}),
    ("In the right lower lobe, atelectasis and consolidation are seen", {
        "atelectasis": {"lobes": ((RLL,), "right lower lobe")},
        "consolidation": {"lobes": ((RLL,), "right lower lobe")}}),
    ("Cardiomegaly and a right effusion", {
        "cardiomegaly": {"side": (None, "")}, "pleural effusion": {"side": ("right", "right")}}),
    ("Extensive foci of consolidation in the left upper lobe", {
        "consolidation": {"severity": ("severe", "Extensive"),
                          "lobes": ((LUL,), "left upper lobe")}}),
    ("Bilateral effusions, right greater than left", {
        "pleural effusion": {"side": ("both", "Bilateral")}}),
    ("Bibasilar atelectasis", {
        "atelectasis": {"side": ("both", "Bibasilar"), "spread": (("basal",), "Bibasilar")}}),
    ("Two spiculated nodules in the right upper lobe", {
        "nodule": {"count": (2, "Two"), "traits": (("spiculated",), "spiculated")}}),
    ("Peripheral and basal reticulation", {
        "reticulation": {"spread": (("peripheral", "basal"), "Peripheral")}}),
    ("Pleural effusion with lobulated contours and calcifications on the left", {
        "pleural effusion": {"traits": (("lobulated", "calcified"), "lobulated contours"),
                             "side": ("left", "left")}}),
    ("Posterobasal atelectasis in both lungs", {
        "atelectasis": {"segments": (("RS10", "LS10"), "Posterobasal")}}),
    ("Apical nodule in the anterior segment of the right upper lobe", {
        "nodule": {"spread": (("apical",), "Apical"),
                   "segments": (("RS3",), "anterior segment of the right upper lobe")}}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TIES)
def test_attributes_belong_to_their_thing(
    text: str, expected: dict[str, dict[str, tuple[object, str]]]
) -> None:
    """Severity, side, place, number and looks: the right ones, from the right characters."""
    found: dict[str, Statement] = {}
    for one in find_statements(text):
        found.setdefault(one.observation, one)
    for name, fields in expected.items():
        for field, (value, words) in fields.items():
            assert getattr(found[name], field) == value, (name, field)
            told = found[name].evidence.get(field)
            assert (told.extract(text) if told else "") == words


@pytest.mark.parametrize(
    ("text", "count", "many"),
    [
        ("A nodule", 1, False),
        ("A 5 mm nodule in the right lung", 1, False),
        ("8 mm calcified nodule", 1, False),
        ("Two 5 mm nodules", 2, False),
        ("3 nodules", 3, False),
        ("Several nodules", None, True),
        ("A few nodules", None, True),
        ("Multiple bilateral nodules", None, True),
        ("Nodules", None, False),
        ("An appearance compatible with nodules", None, False),
        ("A mosaic attenuation pattern", None, False),
        ("No nodule", None, False),
        ("One of the nodules has grown", None, False),
        ("Series 2 nodules", None, False),
        ("Three lesions with cavitation", 3, False),
    ],
)
def test_how_many(text: str, count: int | None, many: bool) -> None:
    """A number counts things; an article counts only what can be counted."""
    one = find_statements(text)[-1]
    assert (one.count, one.many) == (count, many)


REGIONS = [
    ("Consolidation in the right lower lobe", ("right lower lung zone",)),
    ("Opacity in the left mid lung zone", ("left mid lung zone",)),
    ("Bibasilar atelectasis", ("right lower lung zone", "left lower lung zone")),
    ("Biapical scarring", ("right apical zone", "left apical zone")),
    ("Nodule in the lingula", ("left mid lung zone",)),
    ("Nodule in the apical segment of the right upper lobe",
     ("right apical zone", "right upper lung zone")),
    ("Bilateral perihilar opacities", ("right hilar structures", "left hilar structures")),
    ("Small left pleural effusion", ("left costophrenic angle",)),
    ("Left apical pneumothorax", ("left apical zone",)),
    ("Right pneumothorax", ("right lung",)),
    ("Cardiomegaly", ("cardiac silhouette",)),
    ("Left hilar lymph node", ("left hilar structures",)),
    ("Calcification of the aortic arch", ("aortic arch",)),
    ("Catheter tip in the superior vena cava", ("svc",)),
    ("Endotracheal tube 3 cm above the carina", ("carina",)),
    ("Fractured left clavicle", ("left clavicle",)),
    ("Scoliosis", ("spine",)),
    ("Hiatal hernia", ("mediastinum",)),
    ("Cyst in the liver", ("right upper abdomen",)),
    ("Right rib fracture", ()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "regions"), REGIONS)
def test_regions_of_the_radiograph(text: str, regions: tuple[str, ...]) -> None:
    """Where one would look for it; nowhere where no region shows it."""
    assert xray_regions_of(find_statements(text)[0]) == regions


def test_only_known_regions_in_their_order() -> None:
    """Names are those of the list, whatever is said."""
    names = xray_regions().names
    for text, _ in REGIONS:
        found = [names.index(name) for one in find_statements(text) for name in xray_regions_of(one)]
        assert found == sorted(found)
