"""WHICH WORDS do two texts share? ROUGE, METEOR, BLEU and CIDEr-D, equal to the packages they come from.

`rouge`, `corpus_bleu`, `sentence_bleu`, `radcliq_bleu2`, `meteor` and `cider` take plain texts; the metrics
of the catalog are in `scores`. In all of them the reference comes first.
"""

from overread.metrics.words.bleu_scores import Bleu, corpus_bleu, radcliq_bleu2, sentence_bleu
from overread.metrics.words.cider_scores import cider
from overread.metrics.words.meteor_scores import meteor
from overread.metrics.words.rouge_scores import Rouge, rouge

__all__ = ["Bleu", "Rouge", "cider", "corpus_bleu", "meteor", "radcliq_bleu2", "rouge", "sentence_bleu"]
