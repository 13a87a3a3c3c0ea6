"""The words that peer_accuracy.py gives to every peer: targets, and added rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gate:
    """A target stands for this label where its sentence agrees."""

    label: str
    needs: str = ""
    unless: str = ""


@dataclass(frozen=True)
class Target:
    """Words to look for ("nodul*" is a beginning) and what they stand for."""

    name: str
    phrases: tuple[str, ...]
    gates: tuple[Gate, ...]


def make_target(label: str, phrases: str, *, needs: str = "", unless: str = "", name: str = "") -> Target:
    words = tuple(part.strip() for part in phrases.split("|"))
    return Target(name or label, words, (Gate(label, needs, unless),))


NOT_LUNG = (
    r"thyroid|adrenal|surrenal|liver|hepat|spleen|splen|kidney|renal|breast|pancrea|subcutan|skin|"
    r"thymus|gland|bone|vertebra|rib\b|cortex|corpus|omentum|peritone|mesenter|axilla"
)
LUNG = r"lung|lobe|pulmon|parenchym|segment|fissur|pleura|apex|apical|basal|lingul|thora"

TARGETS: tuple[Target, ...] = (
    make_target(
        "Medical material",
        "catheter* | port | stent* | pacemaker* | pace maker | prosthe* | suture* | sutura* |"
        " implant* | cannula* | electrode* | nasogastric* | endotracheal tube |"
        " tracheostomy | drain | drainage tube | chest tube | thorax tube | surgical clip* |"
        " clips | metallic * | operation material* | surgical material* | sternotomy wire* |"
        " sternal wire* | wires | pigtail | intubat* | fixation material* | fixator* | stapler |"
        " valve replacement | icd | picc | screw* | tube | sternotomy",
        unless=r"breast (?:implant|prosthes)",
    ),
    Target(
        "calcified wall",
        ("atheroma*", "athero*", "plaque*", "calcifi*", "calcific"),
        (
            Gate(
                "Arterial wall calcification",
                needs=r"aort|supra-?aortic|arch\b|arteries|arterial|vascular|vessel|carotid"
                r"|brachiocephalic|subclavian|atheroscl",
                unless=r"^(?=.*\bcoronary)(?!.*(?:aort|arch|vascular|vessel|subclav|carotid))"
                r"|pleural|valve|valvular",
            ),
            Gate("Coronary artery wall calcification", needs=r"coronar|\blad\b|\brca\b|circumflex"),
        ),
    ),
    make_target(
        "Cardiomegaly",
        "cardiomegal* | enlarged heart | heart enlargement | cardiac enlargement |"
        " heart is enlarged | heart is larger | heart was larger | heart size increased |"
        " heart size has increased | heart size is increased | heart size was increased |"
        " heart sizes increased | heart size is larger | heart dimensions increased |"
        " heart dimensions are increased | size of the heart increased |"
        " size of the heart has increased | size of the heart is increased |"
        " heart size is above | heart sizes are increased |"
        " heart is above | heart is minimally | heart is slightly | larger heart |"
        " increase in heart size | increased heart size | cardiac size increased",
    ),
    make_target(
        "Cardiomegaly",
        "cardiothoracic | cardio thoracic | ctr | heart | cardiac",
        name="heart size",
        needs=r"(?:cardio-?\s?thoracic|heart|cardiac)\W+(?:\w+\W+){0,6}?"
        r"(?:increas|enlarg|larger|above)|(?:increas|enlarg)\w*\W+(?:\w+\W+){0,4}?"
        r"(?:heart|cardiac) siz|increas[^.]*favou?r of[^.]*heart|ctr[^.]*increas|increas[^.]*ctr",
        unless=r"normal",
    ),
    make_target(
        "Pericardial effusion", "pericardial | pericardium | pericard*", needs=r"effusion|fluid|smear"
    ),
    make_target("Hiatal hernia", "hiatal hernia* | hiatus hernia* | hiatal | hiatus"),
    make_target(
        "Lymphadenopathy",
        "lymph node* | lymphnode* | lymphadenopath* | lap | laps | lymphadenomegal* |"
        " adenopath* | lymphoid node* | lymph gland*",
        unless=r"intrapulmonary|intraparenchymal|\(lymph node|lymph node\?",
    ),
    make_target("Emphysema", "emphysem* | bulla | bullae | bullous | bleb*", unless=r"subcutan"),
    make_target("Atelectasis", "atelecta* | collapse* | aeration loss"),
    make_target(
        "Lung nodule",
        "nodul* | micronodul*",
        unless=rf"^(?!.*(?:{LUNG})).*(?:{NOT_LUNG})|thyroid|adrenal|schmorl"
        r"|nodular (?:ground|consol|dens|infiltr|thick|calcif|opaci)",
    ),
    make_target("Lung opacity", "ground glass* | groundglass | frosted glass | opacit* | opacif*"),
    make_target(
        "Lung opacity",
        "density increase* | increased density | increases in density | increase in density",
        name="denser",
        needs=r"lung|lobe|segment|parenchym",
        unless=r"sequela|fibrotic|fatty|pleuroparenchym|peribronchial dens|bone|consolidat|nodul",
    ),
    make_target(
        "Pulmonary fibrotic sequela",
        "sequela* | sequel | fibrot* | fibros* | fibroatelect* | pleuroparenchymal |"
        " pleuro parenchymal | scar* | parenchymal band* | fibro*",
        unless=r"fracture|fibroaden|^(?!.*(?:lung|lobe|apex|apical|parench|segment|basal)).*rib",
    ),
    make_target(
        "Pleural effusion",
        "effusion* | hydrothorax | hydropneumothorax | pleural fluid | hemothorax | empyema | fluid*",
        needs=r"pleur|hemithora|lung|thora|bilateral|both side|effusion",
        unless=r"pericardi(?!.*(?:pleur|hemithora|bilateral))|abdom|pelvi|perihepat|intra-?abd",
    ),
    make_target("Mosaic attenuation pattern", "mosaic*"),
    make_target(
        "Peribronchial thickening",
        "peribronch*",
        needs=r"peribronch\w*\W+(?:\w+\W+){0,4}?(?:thick|sheath|cuff)"
        r"|(?:thick|sheath|cuff)\w*\W+(?:\w+\W+){0,4}?peribronch",
    ),
    make_target("Consolidation", "consolidat*"),
    make_target("Bronchiectasis", "bronchiecta* | bronchioloectas* | bronchial dilat* | ectatic bronch*"),
    make_target(
        "Interlobular septal thickening",
        "interlobular | septal | interlobular septa* | inter lobular | septa | septum",
        needs=r"(?:interlobular|inter-lobular|septa\w*)\W+(?:\w+\W+){0,4}?(?:thick|promin|increas|clarif)"
        r"|(?:thick|promin|clarif)\w*\W+(?:\w+\W+){0,4}?(?:interlobular|sept)",
        unless=r"interventric|interatri|nasal",
    ),
)

NEGATIONS = (
    r"\b(?:no|not|without|nor|neither|never|none|absent|absence|negative for|free of|cannot|"
    r"ruled out|rather than|unlikely)\b"
)

SEEN = (
    "observed detected seen noted found present identified encountered distinguished evident "
    "visible monitored visualized defined"
).split()
BE = ("was", "were", "is", "are")

BACKWARD = tuple(f"{be} not {seen}" for be in BE for seen in SEEN) + tuple(
    f"{be} not {how} {seen}" for be in BE for how in ("clearly", "definitely") for seen in SEEN
)
"""The way of a report that was translated: the finding first, "was not observed" after it."""

PSEUDO = (
    "did not reach",
    "does not reach",
    "do not reach",
    "not reaching",
    "not reach",
    "is not specific",
    "are not specific",
    "not pathological",
    "not in pathological",
    "are not pathological",
    "no significant change",
    "no change",
    "no difference",
    "no significant difference",
    "not differ",
    "did not differ",
    "do not differ",
    "does not differ",
    "could not be excluded",
    "cannot be excluded",
    "not excluded",
    "could not be ruled out",
    "could not be characterized",
    "not be characterized",
    "does not cause",
    "not cause",
    "does not show",
    "do not show",
    "no contrast",
    "no iv contrast",
    "is not given",
    "not given",
    "not evaluated",
    "could not be evaluated",
    "not be evaluated",
    "not optimally",
    "no longer",
    "free fluid",
    "free air",
    "free effusion",
    "free pleural",
)
"""Negations that do not deny the finding beside them."""

TERMINATE = (
    "however",
    "except",
    "except for",
    "other than",
    "apart from",
    "although",
    "there is",
    "there are",
    ";",
    "was observed",
    "were observed",
    "is observed",
    "are observed",
    "was detected",
    "were detected",
    "is detected",
    "are detected",
)
"""Where a negation ends although the sentence goes on (only for the scopes that run forward)."""
