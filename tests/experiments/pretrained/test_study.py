"""What the study of the encoder read is told with its numbers."""

from experiments.data.catalogue import MRPC, WIKITEXT
from experiments.pretrained import minilm, study


def test_numbers_name_every_file_and_its_checksum() -> None:
    numbers = study.gather(study.PRESETS["smoke"], [])
    assert numbers["files"][MRPC.path] == MRPC.sha256
    assert numbers["files"][WIKITEXT.path] == WIKITEXT.sha256
    assert minilm.SHA256.items() <= numbers["files"].items()


def test_units_of_other_files_are_not_taken(monkeypatch) -> None:
    """A unit is known by its configuration, which the checksums are a part of."""
    before = {unit.name for unit in study.units(study.PRESETS["smoke"], {})}
    monkeypatch.setitem(study.FILES, MRPC.path, "0" * 64)
    after = {unit.name for unit in study.units(study.PRESETS["smoke"], {})}
    assert len(before) == 3 and not before & after
