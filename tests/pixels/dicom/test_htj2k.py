"""DICOM files in HTJ2K (high-throughput JPEG 2000), decoded by Pillow's OpenJPEG.

The code-streams were made with OpenJPH 0.9 (`ojph_compress`) of pictures that the tests compute again.
"""

from __future__ import annotations

import shutil
import subprocess
from base64 import b85decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydicom import uid
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate

from overread.errors import PictureError
from overread.pixels.dicom.file import decodable_syntaxes, read_dicom, read_hu
from tests.pixels.dicom.dicom_files import grey, stored

GREY = b85decode(
    "|4;u>04YEK0000W0000O00000000000000W0000O0000000000009dD0sl|{2mk^A000O7QUDA90ssL30t5s=0smY83LtQJczAGd"
    "c>iPo761WHaAj^vP)HzFWpW@eE;%kRF8`1K3IG5A00JNY0soW00eVmh<3d`7EF;&(kOfR)rFc!_g8<csO)AXF5$54zvW{%njaptx"
    "+{CvhGiTv3mmoN(lnsXBg*>e^k?;VVGNFz_5)1{5Ab{4N0KfpZ-~e4501Ipdf&&UPSJw_efQRBzVO4;+{t`tlxz?`xfL4yReE_jV"
    "QuxkE2n-ws3W0=RP)Ha67C<2Y2%-=Gi;3NPJXWEw0S8|)Op&I%dB7-V?-BZJ)NADEEemY<Nkn}BzyW)702jJI0KLG5jeyFmxbYB_"
    "<I@noQOY0;8$=kE5}eCKG3kK8i;Q6q6ryniP~9O(01Abo)6o?&fFS_JVNsGsVHhDgyWvftNX&3f0n~(@il-be&wVN%S;Xf`(YUpo"
    "%SxmIymG2bz(^kXn-#=qJ@+F!0?R0(We=jPz*(Lez@T2BLN{niZ3c=}KOq9NNG~mE9OO;v?4A=YkTd{sffRS-fT%$o9b}V*A?U|1"
    "-H3%i)zNr@0A&OKs*n(A9ml2p*nhFY(P68Fmryh#iRUSGt(z)RuHCusF@W`dwRJ{GYgvqw17e17vMLTY!bjENk%gcD+BhND00G0q"
    "h88>{-0VeIW-?N3P77!aRah7`^r&J0kO>lw6;ym5<eNieMN<1xRQM%ALW$5Yp$qdAkb>}RJ<%e`#0)~h7P%U&|6@p4i3Y!$_svuE"
    "D3;qKD0!PY0{__"
)
# What the encoder writes is in this order by itself: the same bytes under either syntax.
GREY_RPCL = GREY
GREY_LOSSY = b85decode(
    "|4;u>04YEK0000W0000O00000000000000W0000O0000000000009dD0sl|{2mk^A001ZdQUDA90ssL30t5s=0RLP75h8@Rg&~C@"
    "g^hgneD-{q|6~9b00B>MWo}APNFY{aav(4+IW90R|BwI*000000<i!A|C7J~Ubz0aw8KOPbXgzxkm86C9hr2z%9Zd2susZW`yaVj"
    "?`~^~g~!xQt{<3X#)^xSIM8cc(D7Gdi4DOT#QFx9Bb=p6qZzQ-_~{q>O*12<7lu)P1R*(qF^oVWo&dlAU6cR?+rR)_01!w7jw~rz"
    "Cz3U13Pgh%HxUSQNS-c|p}_cp5HuQ<1~Fsy04Ev)$qt8}AuO;VYJUKQ!8TGpH8KZr^WF^*0QO9nBB7fFP)<<kK&6A35okWh*<hx{"
    "06_o{LLdQ;tL9qdyQm=3G6C6$y}jc=&<i^vhaA9SY(GoR_W?&eay}ca8<`K5odCc9zK(zaeKP<8_rQWlD6@@5jf0u;Tl>@;BCa~E"
    "0#Sbx%__xY=?vp44I2l+=B^TrG~>^}nW|JU<4{4sqz%TfCm<}lMJmfJpA|?)RSM)`c3>!5kPnTm?0`OlH<pN#_G~~7zmCLLVh5P$"
    "Kqm-aOQ+T8k{{1@m1BpU%pGXH96aIGdO`!|Dx|y%4xkdzc#gdAVVgVxYo8NGJtb94(VW&mhX+LQ9dyfpqO6<iVUc6{ycNQW`UkkO"
    "B<X%KL^pOXnj?s)nqY!HRvkeidBrdfg4oI{`vZ53=GVrGJOsq5U4yY#L%U=lYHQ+*f!CuosNy&{4u}A2En3(y^8^qBAVdTfKxIg%"
    "^uBs8s!F9(Lb@&hi&)}tbZJE8q^pN;2FisX`Xm5k)Di%&1BR#?&tFHe1YR<Xa-<~KB1B<mIvQy6+%dtTV3g&WHIg^lZuN_OeVL8~"
    "eh<;?p*%}x4^ONb8nK|cJ@7zNRF$=C6%tpaXKbykTg(jrL;eO4KON-SF!#=Ht?WE-C>XhV6m<lSQ!*l8s7>+bqi?oGl*F;Ol$47*"
    "0{__"
)
COLOUR = b85decode(
    "|4;u>053oQ0000W0000O00000000000000W0000O000000000000RdB0S5sA2LS>9Pyh%30ssI21piV13;+TE0RaL81V91*TmT9n"
    "SYTjaSXf~HWB?Wb0Z(vcZc0!{AXa5^ATTaDE-)_tkN^q*00001{{R91lfVnL{pj;uw6uGa@{e)egmo$JG0r!~w`S<J2$2MAwz~+O"
    "g+z1@qD{sEp_EbtXMzg4001$*0Kf~i$2)w>v;9_&-DeT&p8M;1Zs&3toF=zXqW(1hHGLbu_Sdw$Mxg!!;IyLt2p0eVG*U#q0Kf~o"
    "hwb4unY`YX7S2uvjz*8`tIy|bc{v#v`uN)U+kV77m-8BMm;8$yvaXPu^8kXWMZke@gabe#M7{vP1*ZTNpa1}n0058x0FX`tQ-IPe"
    "RIR!I*38Vz{`zuz_sQ(I0Kf%Q09Jqi008HJr>DYq0JW;Bs{Z<Nd-uugxB$QfQ~+84?(XjAfTyRzcL3)(=bUr?`TziX_5cCwx&Xim"
    "$N_p309}{>@cI4}^z`)f@_GOO0000000000002M`KmiI+fC3bt0Q~@x-Lgw|$t~L?w;!H)=bm}jJoC>y^R9X4o_Xh7^Upl<&XGkF"
    "QAZuS0ssI501N;y0KfnM0|5MKw%cvC+tY2f+ika|+ikYnZ%ww_ZMNQ<ZMNHOu<f?nZMPKyzzWy_YXGXMs`>sY>FMd|;(7p?BuSDa"
    "N&f$FfhWIYp8b-0_DSr&0Kf|P0c-#yNs=V_`TnP;r>CbvdH^vZA|fIpA|n3(afc_re4hRCd-uugzX1Q)"
)
SIGNED = b85decode(
    "|4;u>04YEK0000W0000O00000000000000W0000O000000000000EBy0sl|{2mk^A000aBQUDA90ssL30t5s=0smY83Lub}n3#}|"
    "nEzw|761WHaAj^vP)HzFWpW@eE;%kRF8`1K3IG5A00Juj0soW002inL;>lCvGJ3)7ppgZ++(SZ`iB*o!<}Lsd6DkyhcC7EA?GFhM"
    "$ti%Nlsf(AAwyzANlL|m*O?-Buos{X8b&aTKOVjfdiB9_5Ca&40ja+LzyJ$=003Pa006eY1%d+#G*{OSK!AthQejnqx&9JGF1gmO"
    "`+!!CwS54wMN;_ANeB!a1`2_MU{FXH02V+Y00^QG0E>y;dpuU5umJ~OGE9-Cym`PVXYUdEY}9My=q(Fu`AI~50Kfnjw?F_Fx<CL6"
    "+yI7+fXb}6@eq{b(-6N=${-9IL>QJ5oXbQp>43qDjA0NIqHzRJ-62T;3WcK6(G@a)Appi<QIbYs7$G{l;Z31P%y3Qt)P$XiryMWO"
    "eJUSW#OF%UxV4<iN~8k3a;i(fNFMo{6~t*h_ai$3%P68{52CEVS)LlepkAOtH)u+228vZbAp*2WFD+>t<W1`Ao)a#RGyrjd6nEr+"
    "s6ibaWRry<=*KVJh=oAa(RhLYWds1KkPvAd$EE$)f3d>RVXK9gP&6Zn=P7lqn<`SS-MQ~Efc1a1bw){RS&WkdVuo<CDh@ZoN7dnx"
    "g`fc1I3d^o0mH<G7Ca-|>_u2+GE!|$3up~hSQs_*sA2$+2@;MKRD2)gn?qzpQu|U=_$5L@iO?{i3-c6^g79oT(IUyj3_`*dxf-qi"
    "V@Ozu2EUv4%~SL!mfIvKd7C-{|Je"
)


def pictures() -> tuple[NDArray[Any], NDArray[Any]]:
    """The grey and the coloured picture that were coded."""
    down, across = np.mgrid[:24, :32]
    noise = np.random.default_rng(0).integers(0, 9, (24, 32))
    flat = (2048 + 40 * across - 30 * down + noise).astype(np.uint16)
    return flat, np.stack([across * 7, down * 9, (across + down) * 4], -1).astype(np.uint8)


def coded(stream: bytes, syntax: uid.UID, pixels: NDArray[Any], **elements: Any) -> bytes:
    """A DICOM file with one coded frame."""
    first = pixels if pixels.ndim == 2 else np.ascontiguousarray(pixels[..., 0])
    dataset: Dataset = grey(first, **elements)
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.PixelData = encapsulate([stream])
    dataset["PixelData"].VR = "OB"
    dataset["PixelData"].is_undefined_length = True
    return stored(dataset)


@pytest.mark.parametrize(
    ("stream", "syntax"), [(GREY, uid.HTJ2KLossless), (GREY_RPCL, uid.HTJ2KLosslessRPCL), (GREY, uid.HTJ2K)]
)
def test_lossless_htj2k_is_read_voxel_by_voxel(stream: bytes, syntax: uid.UID) -> None:
    """All three transfer syntaxes, twelve bits stored in sixteen, scaled to HU."""
    flat, _ = pictures()
    source = coded(stream, syntax, flat, BitsStored=12, HighBit=11, RescaleSlope=1, RescaleIntercept=-1024)
    assert np.array_equal(read_hu(source), flat.astype(int) - 1024)
    assert decodable_syntaxes()[syntax.name]


def test_signed_and_coloured_htj2k_are_read() -> None:
    """Signed samples keep their values, and the colour transform is undone."""
    flat, colour = pictures()
    signed = (flat.astype(np.int32) - 1300).astype(np.int16)
    assert np.array_equal(read_hu(coded(SIGNED, uid.HTJ2KLossless, signed)), signed)
    made = coded(
        COLOUR,
        uid.HTJ2KLossless,
        colour,
        SamplesPerPixel=3,
        PlanarConfiguration=0,
        PhotometricInterpretation="YBR_RCT",
    )
    assert np.array_equal(read_dicom(made), colour)


def test_lossy_htj2k_is_close() -> None:
    """The irreversible transform, quantised finely: within one grey of 4096."""
    flat, _ = pictures()
    found = read_hu(coded(GREY_LOSSY, uid.HTJ2K, flat, BitsStored=12, HighBit=11))
    assert np.abs(found.astype(int) - flat).max() <= 1


def test_without_a_decoder_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """An OpenJPEG before 2.5 made no sense of these streams: it is not asked."""
    monkeypatch.setattr("PIL.features.version", lambda name: "2.4.0")
    source = coded(GREY, uid.HTJ2KLossless, pictures()[0], BitsStored=12, HighBit=11)
    with pytest.raises(PictureError, match=r"High-Throughput.*pip install --upgrade pillow"):
        read_hu(source)
    assert not decodable_syntaxes()[uid.HTJ2K.name]


def test_a_frame_of_another_size_than_the_header_is_named() -> None:
    """As for the other syntaxes: no decoder is led out of its buffer."""
    flat, _ = pictures()
    source = coded(GREY, uid.HTJ2KLossless, flat, BitsStored=12, HighBit=11, Rows=48)
    with pytest.raises(PictureError, match=r"\(24, 32, 1\).*\(48, 32, 1\)"):
        read_hu(source)


def test_damaged_streams_give_an_array_or_one_sentence() -> None:
    """Cut and flipped at seeded places: no other exception, no death of the process."""
    flat, _ = pictures()
    generator = np.random.default_rng(11)
    for _ in range(300):
        stream = bytearray(GREY)
        for at in generator.integers(0, len(stream), 3):
            stream[int(at)] = int(generator.integers(0, 256))
        cut = int(generator.integers(60, len(stream))) if generator.random() < 0.3 else len(stream)
        try:
            read_hu(coded(bytes(stream[:cut]), uid.HTJ2KLossless, flat, BitsStored=12, HighBit=11))
        except PictureError as error:
            assert error.remedy


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ojph_compress") is None, reason="ojph_compress (OpenJPH) is not installed")
def test_a_whole_slice_of_openjph_is_read(tmp_path: Path) -> None:
    """512 × 512 of sixteen bits, coded by OpenJPH now."""
    down, across = np.mgrid[:512, :512]
    noise = np.random.default_rng(2).integers(0, 200, (512, 512))
    flat = (30000 + 20000 * np.sin(across / 31) * np.cos(down / 17) + noise).astype(np.uint16)
    (tmp_path / "a.pgm").write_bytes(b"P5\n512 512\n65535\n" + flat.astype(">u2").tobytes())
    words = ["ojph_compress", "-i", "a.pgm", "-o", "a.j2c", "-reversible", "true"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    found = read_hu(coded((tmp_path / "a.j2c").read_bytes(), uid.HTJ2KLossless, flat))
    assert np.array_equal(found, flat)
