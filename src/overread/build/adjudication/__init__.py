"""WHO decides where rules and models cannot? People: two blinded reads, a third where they differ.

`Queue` hands out questions and takes verdicts, `settled` says what was decided, `verify` whether
the log of verdicts is as it was written; `reads_agreement` says how far the readers agree.
"""

from overread.build.adjudication.decision import Decision
from overread.build.adjudication.log import LogCheck, verify
from overread.build.adjudication.progress import Progress
from overread.build.adjudication.question_file import questions_of, write_questions
from overread.build.adjudication.queue import Queue, decisions, settled
from overread.build.adjudication.reads import CANNOT_JUDGE, Given
from overread.build.adjudication.sheets import export_verdicts, import_verdicts

__all__ = [
    "CANNOT_JUDGE",
    "Decision",
    "Given",
    "LogCheck",
    "Progress",
    "Queue",
    "decisions",
    "export_verdicts",
    "import_verdicts",
    "questions_of",
    "settled",
    "verify",
    "write_questions",
]
