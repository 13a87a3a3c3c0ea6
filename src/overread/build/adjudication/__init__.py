"""WHO decides where rules and models cannot? People: two blinded reads, a third where they differ.

`Queue` hands out questions and takes verdicts, `final_verdicts` says what was decided, `verify_log`
whether the log of verdicts is as it was written; `agreement` says how far the readers agree.
"""

from overread.build.adjudication.decision import Decision
from overread.build.adjudication.final_verdicts import final_verdicts, load_decisions
from overread.build.adjudication.progress import Progress
from overread.build.adjudication.question_file import load_questions, write_questions
from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import CANNOT_JUDGE, PersonVerdict
from overread.build.adjudication.verdict_log import LogCheck, verify_log
from overread.build.adjudication.verdict_sheets import export_verdicts, import_verdicts

__all__ = [
    "CANNOT_JUDGE",
    "Decision",
    "LogCheck",
    "PersonVerdict",
    "Progress",
    "Queue",
    "export_verdicts",
    "final_verdicts",
    "import_verdicts",
    "load_decisions",
    "load_questions",
    "verify_log",
    "write_questions",
]
