"""Whole folders: every kind of file, the record, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pydicom
import pytest
import typer
from PIL import Image
from pydicom import uid
from pydicom.dataset import Dataset
from typer.testing import CliRunner

from overread.build.deid import CleanSummary, DeidSecret, Options, deidentify, require_clean
from overread.build.deid.folder import RECORD, SUMMARY
from overread.cli.deidentify import deidentify as command
from overread.errors import OverreadError, UsageError
from tests.pixels.dicom.dicom_files import RAMP, grey, stored

SECRET = DeidSecret(b"a key for the tests, nothing else")


def a_scan(**elements: Any) -> Dataset:
    dataset = grey(RAMP, PatientName="Quillfeather^Yarrow", PatientID="4471023", StudyDate="20200301")
    dataset.StudyInstanceUID = uid.generate_uid()
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return dataset


def fill(source: Path) -> None:
    """A folder as a hospital would hand it over."""
    scans = source / "Quillfeather_Yarrow"
    scans.mkdir(parents=True)
    (scans / "IM0001.dcm").write_bytes(stored(a_scan()))
    (scans / "4471023").write_bytes(stored(a_scan()))
    Image.fromarray((RAMP >> 4).astype(np.uint8)).save(source / "4471023_front.png")
    image = nib.Nifti1Image(RAMP.astype(np.int16)[..., None], np.eye(4))
    image.header["descrip"] = b"Quillfeather"
    image.header["db_name"] = b"4471023"
    image.header.extensions.append(nib.nifti1.Nifti1Extension("comment", b"Quillfeather"))
    nib.save(image, source / "volume.nii.gz")
    with (source / "reports.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["PatientID", "StudyDate", "DOB", "image", "Findings_EN"])
        text = "quillfeather improved. CT of 01.03.2020, 12 mm nodule. Dr. Zorblat informed."
        writer.writerow(["4471023", "2020-03-01", "1950-04-03", "4471023_front.png", text])
    rows = [{"id": "a1", "patient": "4471023", "regions": [{"name": "right lung"}], "report": "No effusion."}]
    (source / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (source / "note.txt").write_text("Seen by Dr. Zorblat.\n", "utf-8")
    (source / ".DS_Store").write_bytes(b"x")


def everything(folder: Path) -> bytes:
    """Names and bytes of all files, packed ones unpacked."""
    import gzip

    held = b""
    for path in sorted(folder.rglob("*")):
        held += str(path.relative_to(folder)).encode() + b"\n"
        if path.is_file():
            data = path.read_bytes()
            held += gzip.decompress(data) if path.suffix == ".gz" else data
    return held


@pytest.fixture
def cleaned(tmp_path: Path) -> CleanSummary:
    fill(tmp_path / "source")
    return deidentify(tmp_path / "source", tmp_path / "out", secret=SECRET)


def test_nobody_is_left_in_any_file(cleaned: CleanSummary) -> None:
    """Neither name nor id nor date is in any byte or name of the cleaned folder."""
    assert cleaned.unclean == ()
    assert cleaned.files == {"dicom": 2, "png": 1, "nifti": 1, "csv": 1, "jsonl": 1, "txt": 1}
    held = everything(cleaned.out).lower()
    for word in (
        b"quillfeather",
        b"yarrow",
        b"4471023",
        b"zorblat",
        b"20200301",
        b"2020-03-01",
        b"01.03.2020",
        b"1950",
    ):
        assert word not in held, word


def test_what_belongs_together_stays_together(cleaned: CleanSummary) -> None:
    """Header and table give the patient one code and one shift, and the table finds its picture."""
    with (cleaned.out / "reports.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    scan = pydicom.dcmread(next(cleaned.out.rglob("IM0001.dcm")))
    assert row["PatientID"] == scan.PatientID == SECRET.patient_code("4471023")
    assert row["StudyDate"].replace("-", "") == scan.StudyDate
    day, month, year = scan.StudyDate[6:], scan.StudyDate[4:6], scan.StudyDate[:4]
    assert f"CT of {day}.{month}.{year}, 12 mm nodule." in row["Findings_EN"]
    assert row["DOB"] == ""
    assert (cleaned.out / row["image"]).is_file()
    (told,) = [json.loads(line) for line in (cleaned.out / "rows.jsonl").read_text("utf-8").splitlines()]
    assert told["patient"] == row["PatientID"]
    assert told["regions"] == [{"name": "right lung"}]
    assert (told["id"], told["report"]) == ("a1", "No effusion.")


def test_voxels_stay_and_headers_do_not(cleaned: CleanSummary) -> None:
    """A NIfTI file keeps voxels and affine and loses its free text and extensions."""
    image = nib.load(cleaned.out / "volume.nii.gz")
    assert np.array_equal(np.asarray(image.dataobj)[..., 0], RAMP)
    assert np.array_equal(image.affine, np.eye(4))
    assert bytes(image.header["descrip"].tobytes()).strip(b"\0") == b""
    assert not image.header.extensions


def test_the_record_is_whole(cleaned: CleanSummary) -> None:
    """Every removal is a line, the summary counts them, and system files are named as left out."""
    lines = [json.loads(line) for line in (cleaned.out / RECORD).read_text("utf-8").splitlines()]
    assert len(lines) == sum(cleaned.removals.values())
    assert {"file", "kind", "action", "where", "rule"} == set(lines[0])
    summary = json.loads((cleaned.out / SUMMARY).read_text("utf-8"))
    assert summary["removals"] == cleaned.removals
    assert summary["left_out"] == [".DS_Store"]


def test_unclean_files_are_refused_unless_accepted(tmp_path: Path) -> None:
    """Documents, reports, unknown kinds, broken pictures and links are not written, each told why."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "fine.txt").write_text("No effusion.", "utf-8")
    (source / "letter.docx").write_bytes(b"PK\x03\x04 Quillfeather")
    (source / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n Quillfeather")
    (source / "latin.txt").write_bytes("Müller".encode("latin-1"))
    (source / "russian.txt").write_text("Пациент здоров", "utf-8")
    (source / "bad.jsonl").write_text("{not json\n", "utf-8")
    (source / "ragged.csv").write_text("a,b\n1\n", "utf-8")
    document = a_scan(EncapsulatedDocument=b"%PDF", MIMETypeOfEncapsulatedDocument="application/pdf")
    for keyword in ("Rows", "Columns", "PixelData"):
        delattr(document, keyword)
    (source / "letter.dcm").write_bytes(stored(document))
    report = a_scan(ContentSequence=[Dataset()], Modality="SR")
    (source / "report.dcm").write_bytes(stored(report))
    (source / "link").symlink_to(source / "fine.txt")
    cleaned = deidentify(source, tmp_path / "out", secret=SECRET)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"fine.txt", RECORD, SUMMARY}
    assert {one.source for one in cleaned.refused} == {p.name for p in source.iterdir()} - {"fine.txt"}
    why = {one.source: one.why for one in cleaned.refused}
    assert "whole document" in why["letter.dcm"]
    assert "structured report" in why["report.dcm"]
    assert "not known" in why["letter.docx"]
    assert "UTF-8" in why["latin.txt"]
    assert "alphabet" in why["russian.txt"]
    assert "line 1" in why["bad.jsonl"]
    with pytest.raises(OverreadError, match="could not be cleaned"):
        require_clean(cleaned)
    accepted = deidentify(source, tmp_path / "all", Options(accept_unclean=True), secret=SECRET)
    require_clean(
        accepted.model_copy(update={"unclean": [u for u in accepted.unclean if u.source != "link"]})
    )
    assert (tmp_path / "all" / "letter.docx").is_file()
    assert b"Quillfeather^Yarrow" not in (tmp_path / "all" / "letter.dcm").read_bytes()
    assert not (tmp_path / "all" / "link").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.jsonl", '{"report": "ok"}\n{"report": "No \\ud800 effusion."}\n'), ("a.json", '[{"\\udfff": 1}]')],
)
def test_half_of_a_character_is_no_text(tmp_path: Path, name: str, text: str) -> None:
    """A file with such an escape is not written, and one sentence says where it stands."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / name).write_text(text)
    found = deidentify(tmp_path / "s", tmp_path / "out", secret=DeidSecret(b"k" * 32))
    (one,) = found.refused
    assert "holds half of a character" in one.why
    assert ("line 2" in one.why) == (name == "a.jsonl")
    assert not (tmp_path / "out" / name).exists()
    whole = '{"report": "A face \\ud83d\\ude00, no effusion."}\n'  # a pair is a character
    (tmp_path / "s" / name).write_text(whole if name == "a.jsonl" else f"[{whole}]")
    assert not deidentify(tmp_path / "s", tmp_path / "out2", secret=DeidSecret(b"k" * 32)).refused


def test_a_cut_off_cleaning_leaves_nothing_and_can_be_given_again(tmp_path: Path) -> None:
    """The output appears when all of it is written; the same again is no error, another is."""
    (tmp_path / "s").mkdir()
    for number in range(3):
        (tmp_path / "s" / f"{number}.txt").write_text("No effusion in Mr. Smith.")
    secret = DeidSecret(b"k" * 32)

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deidentify(tmp_path / "s", tmp_path / "out", secret=secret, keep_map=tmp_path / "map", progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]
    for _ in range(2):
        deidentify(tmp_path / "s", tmp_path / "out", secret=secret, keep_map=tmp_path / "map")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map", "out", "s"]
    with pytest.raises(UsageError, match="is not the same"):
        deidentify(tmp_path / "s", tmp_path / "out", secret=DeidSecret(b"o" * 32))


def test_indexes_are_left_out(tmp_path: Path) -> None:
    """A DICOMDIR would name every patient and is not needed any more."""
    source = tmp_path / "source"
    source.mkdir()
    index = a_scan()
    index.SOPClassUID = index.file_meta.MediaStorageSOPClassUID = uid.MediaStorageDirectoryStorage
    (source / "DICOMDIR").write_bytes(stored(index))
    cleaned = deidentify(source, tmp_path / "out", secret=SECRET)
    assert cleaned.left_out == ("DICOMDIR",)
    assert not (tmp_path / "out" / "DICOMDIR").exists()


def test_places_that_cannot_be(tmp_path: Path) -> None:
    """Nothing there, an output that is there or within the source, a map in the output: told."""
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    for out, match in ((tmp_path / "full", "there already"), (source / "out", "lies in the source")):
        with pytest.raises(UsageError, match=match):
            deidentify(source, out, secret=SECRET)
    with pytest.raises(UsageError, match="no such file"):
        deidentify(tmp_path / "nothing", tmp_path / "out", secret=SECRET)
    with pytest.raises(UsageError, match="would lie in the output folder"):
        deidentify(source, tmp_path / "out", secret=SECRET, keep_map=tmp_path / "out" / "map")


def test_ids_as_keys_and_columns_by_name(tmp_path: Path) -> None:
    """An object by ids gets codes for keys; columns of persons, places, ages go by their names."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "by_id.json").write_text('{"4471023": {"report": "Seen 03/20/2021."}}', "utf-8")
    head = "case_id,name,radiologist,phone,age,category,keep\n"
    (source / "t.csv").write_text(
        head + "c1,Vex Quillfeather,Vex Zorblat,555-123-0142,93,1a,4471023\n", "utf-8"
    )
    deidentify(source, tmp_path / "out", Options(keep_columns=("keep",)), secret=SECRET)
    (key,) = json.loads((tmp_path / "out" / "by_id.json").read_text("utf-8"))
    assert key == SECRET.patient_code("4471023")
    with (tmp_path / "out" / "t.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["case_id"], row["phone"], row["age"], row["category"]) == ("c1", "", "90", "1a")
    assert "Zorblat" not in row["radiologist"]
    assert "Quillfeather" not in row["name"]
    assert row["keep"] == "4471023"


def test_the_command(tmp_path: Path) -> None:
    """It cleans, keeps a map for its owner alone, prints no name, and leaves 1 when it refused."""
    fill(tmp_path / "source")
    app = typer.Typer()
    app.command()(command)
    secret, kept = tmp_path / "secret", tmp_path / "map.jsonl"
    words = [str(tmp_path / "source"), "--secret", str(secret), "--keep-map", str(kept)]
    told = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out"), "--tags"])
    assert told.exit_code == 0, told.output
    assert "Quillfeather" not in told.output
    assert "[NAME] improved" in (tmp_path / "out" / "reports.csv").read_text("utf-8")
    assert kept.stat().st_mode & 0o777 == secret.stat().st_mode & 0o777 == 0o600
    assert "Zorblat" in kept.read_text("utf-8")
    (tmp_path / "source" / "x.docx").write_bytes(b"PK")
    again = CliRunner().invoke(
        app, [str(tmp_path / "source"), "--secret", str(secret), "--out", str(tmp_path / "b"), "--json"]
    )
    assert again.exit_code == 1
    assert json.loads(again.output)["unclean"][0]["source"] == "x.docx"
