"""Content of data files: from a folder, from the user's cache, or by download into that cache."""

import functools
import gzip
import hashlib
import os
import sys
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pooch
import requests

from experiments.data.catalogue import EVERY, File
from experiments.data.errors import DataError, Unreachable

CHECKOUT = Path(__file__).resolve().parents[2] / "data"
CACHE = "chefs-random-tables"
PATIENCE = 5.0
"""Seconds after which a silent network counts as absent."""


def content(file: File) -> bytes:
    """The content of a file, unzipped and compared with its checksum.

    A folder named by CRT_DATA must hold the file. Without that variable the places are `data/` in
    the checkout, the cache, and the file's address; `Unreachable` if none of them has it.
    """
    named = os.environ.get("CRT_DATA")
    if named:
        return _read(Path(named) / file.path, file)
    if (CHECKOUT / file.path).exists():
        return _read(CHECKOUT / file.path, file)
    return _cached(file)


def _read(path: Path, file: File) -> bytes:
    """The content of a file on disk, or a sentence that says what is wrong with it."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise DataError(f"{path} cannot be read: {why}; it is the content of {file.url}") from error
    try:
        found = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} is damaged: it cannot be unzipped; {file.url} has it whole"
        ) from error
    seen = hashlib.sha256(found).hexdigest()
    if seen != file.sha256:
        raise DataError(
            f"{path} is not the file that is wanted: its content has sha256 {seen[:12]}… and "
            f"{file.sha256[:12]}… was expected; {file.url} has it"
        )
    return found


def _cached(file: File) -> bytes:
    """From the cache, which holds files unzipped; downloaded first if it is not there whole."""
    # Pooch reports every download; the one line about stand-ins is all that is wanted here.
    pooch.get_logger().setLevel("ERROR")
    wanted = pooch.os_cache(CACHE) / file.path.removesuffix(".gz")
    damaged = None
    if wanted.exists():
        try:
            return _read(wanted, file)
        except DataError as error:
            damaged = error
    if host(file.url) not in reachable():
        raise damaged or Unreachable(f"{file.url} cannot be reached")
    if damaged:
        print(f"{damaged}, from where it is downloaded again", file=sys.stderr)
    try:
        found = pooch.retrieve(
            file.url,
            f"sha256:{file.sha256}",
            fname=wanted.name,
            path=wanted.parent,
            downloader=_download,
        )
    except requests.RequestException as error:
        raise damaged or Unreachable(f"{file.url} cannot be downloaded: {error}") from error
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{file.url} has changed: its content is not the one with sha256 {file.sha256[:12]}…"
        ) from error
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise DataError(f"{wanted} cannot be written: {why}; CRT_DATA may name a folder") from error
    return Path(found).read_bytes()


def _download(url: str, output_file: str, pooch: object) -> None:
    """Fetch a file and unzip it, so that Pooch compares its content."""
    answer = requests.get(url, timeout=PATIENCE)
    answer.raise_for_status()
    body = answer.content
    Path(output_file).write_bytes(gzip.decompress(body) if url.endswith(".gz") else body)


@functools.cache
def reachable() -> frozenset[str]:
    """The hosts of all files that answer within `PATIENCE` seconds: asked once, all together.

    Each is asked in a thread of its own, for looking up a name may hang beyond any limit.
    """
    answered: set[str] = set()

    def ask(url: str) -> None:
        with suppress(requests.RequestException):
            requests.head(url, timeout=PATIENCE)
            answered.add(host(url))

    urls = {host(file.url): file.url for file in EVERY}
    asking = [threading.Thread(target=ask, args=(url,), daemon=True) for url in urls.values()]
    deadline = time.monotonic() + PATIENCE
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(max(0.0, deadline - time.monotonic()))
    return frozenset(answered)


def host(url: str) -> str:
    """Where an address leads."""
    return urlsplit(url).netloc
