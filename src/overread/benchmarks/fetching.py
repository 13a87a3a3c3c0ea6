"""Fetching a release from the hub; every way this fails is one sentence with the remedy."""

from __future__ import annotations

from pathlib import Path

from overread.core import Benchmark
from overread.errors import AccessError, MissingPart


def fetch(benchmark: Benchmark, out: Path, *, revision: str = "main") -> Path:
    """Download all files of the release to `out`; what is there already is not fetched again."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError:
        raise MissingPart(
            "huggingface_hub is not installed", remedy="pip install huggingface_hub"
        ) from None
    repo = benchmark.hub.repo
    page = f"the hub's page of {repo}"
    try:
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision, local_dir=out))
    except GatedRepoError:
        raise AccessError(
            f"{repo} is gated and you have no access",
            remedy=f"accept its terms on {page}, then log in with `hf auth login`",
        ) from None
    except RepositoryNotFoundError:
        raise AccessError(
            f"there is no data set {repo}, or it needs a login",
            remedy=f"look at {page}, then log in with `hf auth login`",
        ) from None
    except RevisionNotFoundError:
        raise AccessError(
            f"{repo} has no revision '{revision}'", remedy="use --revision main"
        ) from None
    except (LocalEntryNotFoundError, OSError, HfHubHTTPError, ValueError) as error:
        cause = error.__cause__ or error
        raise AccessError(
            f"{repo} could not be fetched ({type(cause).__name__})",
            remedy="check the network (or fetch it on another machine and copy the folder here); "
            "files that arrived are kept, the same command goes on from there",
        ) from None
    except Exception as error:
        # httpx errors are no OSErrors; anything else that the client lets through ends here too.
        raise AccessError(
            f"{repo} could not be fetched ({type(error).__name__})",
            remedy="check the network, or fetch it on another machine and copy the folder here",
        ) from error
