"""Download a release from the Hugging Face hub; every failure is one sentence with a remedy."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overread.core import Benchmark
from overread.errors import AccessError, MissingPart


def fetch(benchmark: Benchmark, out: Path, *, revision: str = "main") -> Path:
    """Download all files of the release to `out`; what is there already is not fetched again."""
    try:
        from huggingface_hub import HfApi, constants, snapshot_download
    except ImportError:
        raise MissingPart("huggingface_hub is not installed", remedy="pip install huggingface_hub") from None
    repo = benchmark.hub.repo
    try:
        with _silence_client():
            # Asked here, because snapshot_download would take any folder that is not empty for
            # the release when it cannot reach the hub, and would wait for its answer for ever.
            patience = constants.HF_HUB_ETAG_TIMEOUT
            info = HfApi().dataset_info(repo, revision=revision, timeout=patience)
            commit = info.sha or revision
            folder = snapshot_download(repo, repo_type="dataset", revision=commit, local_dir=out)
    except Exception as error:
        # The client's errors are OSErrors, httpx errors or ValueErrors, as its version has it.
        raise _explain_error(error, repo=repo, out=out, revision=revision) from error
    listed = [Path(folder, one.rfilename) for one in info.siblings or ()]
    missing = [path for path in listed if not path.is_file()]
    if missing:
        raise AccessError(
            f"{len(missing)} of {len(listed)} files of {repo} did not arrive",
            where=str(out),
            remedy="run the same command again",
        )
    return Path(folder)


@contextmanager
def _silence_client() -> Iterator[None]:
    """Silence the client's log messages, and its progress bars where stderr is no terminal."""
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    hide = not sys.stderr.isatty() and not are_progress_bars_disabled()
    logger.setLevel(logging.CRITICAL)
    if hide:
        disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(level)
        if hide:
            enable_progress_bars()


def _explain_error(error: Exception, *, repo: str, out: Path, revision: str) -> AccessError:
    """Turn an error of the hub client into an AccessError that says what the user can do."""
    from huggingface_hub import errors

    page = f"the hub's page of {repo}"
    if isinstance(error, errors.GatedRepoError):
        return AccessError(
            f"{repo} is gated and you have no access",
            remedy=f"accept its terms on {page}, then log in with `hf auth login`",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return AccessError(
            f"there is no data set {repo}, or it needs a login",
            remedy=f"look at {page}, then log in with `hf auth login`",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return AccessError(f"{repo} has no revision '{revision}'", remedy="use --revision main")
    if isinstance(error, OSError) and error.errno is not None:
        # Only the disk gives a number: the client's own errors are OSErrors without one.
        return AccessError(
            f"{repo} cannot be saved there ({error.strerror})",
            where=str(out),
            remedy="make room, or give another folder with --out",
        )
    cause = error.__cause__ if isinstance(error, errors.LocalEntryNotFoundError) else None
    cause = cause or error
    if isinstance(cause, errors.HfHubHTTPError):
        status = cause.response.status_code
        if status in (401, 403):
            return AccessError(f"the hub refused access ({status})", remedy="log in with `hf auth login`")
        return AccessError(
            f"{repo} could not be fetched (the hub answered {status})",
            remedy="try again later; files that arrived are kept",
        )
    return AccessError(
        f"{repo} could not be fetched ({type(cause).__name__})",
        remedy="check the network (or fetch it on another machine and copy the folder here); "
        "files that arrived are kept, the same command goes on from there",
    )
