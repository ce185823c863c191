"""Files from a folder, from the cache and by download; what is wrong with one is one sentence."""

import gzip
import hashlib
import time
from pathlib import Path
from typing import Any

import pytest
import requests

from experiments.data import DataError, catalogue, files
from experiments.data.catalogue import EVERY, FILES, File
from experiments.data.errors import Unreachable

CONTENT = b"1,2,yes\n"


def wanted(path: str) -> File:
    return File(path, f"https://example.org/{path}", hashlib.sha256(CONTENT).hexdigest())


PLAIN, ZIPPED = wanted("uci/a.data"), wanted("mnist/a.gz")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data with both files in it."""
    for name in ("uci", "mnist"):
        (tmp_path / name).mkdir()
    (tmp_path / PLAIN.path).write_bytes(CONTENT)
    (tmp_path / ZIPPED.path).write_bytes(gzip.compress(CONTENT))
    monkeypatch.setenv("CRT_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("file", [PLAIN, ZIPPED])
def test_the_named_folder_is_read(folder: Path, file: File) -> None:
    assert files.content(file) == CONTENT
    (folder / ZIPPED.path).write_bytes(gzip.compress(CONTENT, compresslevel=1, mtime=99))
    assert files.content(file) == CONTENT


@pytest.mark.parametrize(
    ("file", "damage", "sentence"),
    [
        (PLAIN, lambda path: path.unlink(), "cannot be read: no such file"),
        (PLAIN, lambda path: path.write_bytes(CONTENT[:-1]), "not the file that is wanted"),
        (PLAIN, lambda path: path.write_bytes(b"1,3,yes\n"), "not the file that is wanted"),
        (ZIPPED, lambda path: path.unlink(), "cannot be read: no such file"),
        (ZIPPED, lambda path: path.write_bytes(path.read_bytes()[:-9]), "cannot be unzipped"),
        (ZIPPED, lambda path: path.write_bytes(CONTENT), "cannot be unzipped"),
        (ZIPPED, lambda path: path.write_bytes(gzip.compress(b"2")), "not the file that is wanted"),
    ],
)
def test_a_damaged_file_is_one_sentence(
    folder: Path, file: File, damage: Any, sentence: str
) -> None:
    damage(folder / file.path)
    with pytest.raises(DataError, match=sentence) as caught:
        files.content(file)
    assert file.url in str(caught.value) and str(folder) in str(caught.value)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A network whose answers are in a dictionary, and an empty cache."""
    pages: dict[str, bytes] = {}

    def answer(url: str, **_: Any) -> requests.Response:
        made = requests.Response()
        made.status_code = 200 if url in pages else 404
        made._content = pages.get(url, b"")
        return made

    monkeypatch.delenv("CRT_DATA", raising=False)
    monkeypatch.setattr(files, "CHECKOUT", tmp_path / "data")
    monkeypatch.setattr(files.pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(requests, "get", answer)
    monkeypatch.setattr(files, "reachable", lambda: frozenset({"example.org"}))
    return pages


@pytest.mark.parametrize("file", [PLAIN, ZIPPED])
def test_a_download_is_unzipped_checked_and_kept(
    network: dict[str, bytes], tmp_path: Path, file: File
) -> None:
    network[file.url] = gzip.compress(CONTENT) if file is ZIPPED else CONTENT
    assert files.content(file) == CONTENT
    network.clear()
    assert files.content(file) == CONTENT
    (tmp_path / "data" / file.path).parent.mkdir(parents=True)
    (tmp_path / "data" / file.path).write_bytes(b"the checkout comes first")
    with pytest.raises(DataError, match="data"):
        files.content(file)


@pytest.mark.parametrize(
    ("file", "body"),
    [
        (PLAIN, b"other"),
        (ZIPPED, gzip.compress(b"other")),
        (ZIPPED, gzip.compress(CONTENT)[:-9]),
        (ZIPPED, CONTENT),
    ],
    # Named by hand: bytes of gzip hold the time, and every worker must find the same tests.
    ids=["other", "other zipped", "cut off", "not zipped"],
)
def test_a_changed_download_is_refused_and_not_kept(
    network: dict[str, bytes], tmp_path: Path, file: File, body: bytes
) -> None:
    network[file.url] = body
    with pytest.raises(DataError, match="has changed"):
        files.content(file)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.fixture
def damaged(network: dict[str, bytes], tmp_path: Path) -> Path:
    """A file of the cache that is cut short."""
    path = tmp_path / "cache" / PLAIN.path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:-1])
    return path


def test_a_damaged_file_of_the_cache_is_told_and_downloaded_again(
    damaged: Path, network: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    network[PLAIN.url] = CONTENT
    assert files.content(PLAIN) == CONTENT == damaged.read_bytes()
    said = capsys.readouterr().err
    assert said.startswith(f"{damaged} is not the file that is wanted") and said.count("\n") == 1
    assert said.endswith(f"{PLAIN.url} has it, from where it is downloaded again\n")
    assert files.content(PLAIN) == CONTENT and not capsys.readouterr().err


@pytest.mark.parametrize("hosts", [frozenset(), frozenset({"example.org"})])
def test_a_damaged_file_of_the_cache_has_no_stand_in(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, hosts: frozenset[str]
) -> None:
    monkeypatch.setattr(files, "reachable", lambda: hosts)
    with pytest.raises(DataError, match="is not the file that is wanted") as caught:
        files.content(PLAIN)
    assert str(damaged) in str(caught.value) and PLAIN.url in str(caught.value)


def test_a_full_disk_is_not_being_offline(
    network: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network[PLAIN.url] = CONTENT

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match="cannot be written: no space left on device") as caught:
        files.content(PLAIN)
    assert str(tmp_path / "cache" / PLAIN.path) in str(caught.value)


def test_an_address_that_has_gone_is_unreachable(network: dict[str, bytes]) -> None:
    with pytest.raises(Unreachable):
        files.content(PLAIN)


def test_being_offline_is_found_out_once_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def hang(url: str, **_: Any) -> None:
        asked.append(url)
        time.sleep(3)

    monkeypatch.setattr(requests, "head", hang)
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    files.reachable.cache_clear()
    start = time.monotonic()
    assert files.reachable() == files.reachable() == frozenset()
    assert time.monotonic() - start < 2 and len(asked) == len(set(map(files.host, asked))) >= 3
    files.reachable.cache_clear()


def test_the_hosts_that_answer_are_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    def head(url: str, **_: Any) -> None:
        if "uci" not in url:
            raise requests.ConnectionError

    monkeypatch.setattr(requests, "head", head)
    files.reachable.cache_clear()
    assert files.reachable() == {"archive.ics.uci.edu"}
    files.reachable.cache_clear()


def test_every_host_of_the_catalogue_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is never asked counts as unreachable, and its files can never be downloaded."""
    single = [each for each in vars(catalogue).values() if isinstance(each, File)]
    listed = [file for each in FILES.values() for file in each]
    assert len(single) == 2 and set(EVERY) == {*single, *listed}
    monkeypatch.setattr(requests, "head", lambda url, **_: None)
    files.reachable.cache_clear()
    assert files.reachable() == {files.host(file.url) for file in (*single, *listed)}
    files.reachable.cache_clear()


def test_every_file_has_a_checksum_of_its_own() -> None:
    hashes = [file.sha256 for file in EVERY]
    assert len(set(hashes)) == len(hashes) == 18 and all(len(each) == 64 for each in hashes)
