"""What a refusal of bad input must be."""

from collections.abc import Callable

import pytest


def refuses(call: Callable[[], object], words: str) -> None:
    """The call raises a ValueError of one sentence that has these words."""
    with pytest.raises(ValueError, match=words) as caught:
        call()
    said = str(caught.value)
    assert said.endswith(".") and ". " not in said and "\n" not in said
