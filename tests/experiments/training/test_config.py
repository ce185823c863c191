"""Configurations from JSON, and sentences for those that make no sense."""

from dataclasses import asdict

import pytest

from experiments.training import ConfigError, read
from tests.experiments.training.line import Line


def test_a_configuration_survives_json() -> None:
    assert read(Line, asdict(Line(steps=7))) == Line(steps=7)


def test_whole_numbers_are_numbers() -> None:
    assert read(Line, {"ema": 0}).ema == 0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"step": 3}, "Line has no setting 'step'; did you mean 'steps'?"),
        ({"optimizer": {"rate": 1.0, "warmup": 1, "momentum": 0.9}}, "Optimizer has no setting"),
        ({"optimizer": {"rate": 1.0}}, "Optimizer needs 'warmup'"),
        ({"zzz": 1}, "Line has no setting 'zzz'; known are steps, batch"),
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"ema": 1.0}, "ema is 1.0; it must be None or lie in"),
        ({"steps": "10"}, "Line: steps is '10'; it must be a whole number"),
        ({"steps": True}, "Line: steps is True; it must be a whole number"),
        ({"steps": 2.5}, "Line: steps is 2.5; it must be a whole number"),
        ({"ema": "0.9"}, "Line: ema is '0.9'; it must be a number or None"),
        ({"optimizer": None}, "Line: optimizer is None; it must be settings of Optimizer"),
        ({"optimizer": 3}, "Line: optimizer is 3; it must be settings of Optimizer"),
        ({"optimizer": {"rate": 1.0, "warmup": -3}}, "warmup is -3; it must be at least 0"),
        ({"steps": {"a": 1}}, "Line: steps is {'a': 1}; it must be a whole number"),
    ],
)
def test_a_wrong_one_is_one_sentence(values: dict, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(Line, values)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
