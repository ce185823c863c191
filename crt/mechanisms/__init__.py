"""The mechanisms of random features, by name."""

from crt.errors import UnknownNameError
from crt.mechanisms.base import Mechanism
from crt.mechanisms.discrete import GeomRF, OptPoisRF, PoisRF
from crt.mechanisms.exponential import GERF, OPRF, PosRF
from crt.mechanisms.positive_shift import GeomRFPlus, PoisRFPlus
from crt.mechanisms.trigonometric import TrigRF


class Registry(dict[str, type[Mechanism]]):
    """Mechanism classes by name; an unknown name is answered with the known ones."""

    def __missing__(self, name: str) -> type[Mechanism]:
        known = ", ".join(repr(each) for each in self)
        raise UnknownNameError(f"there is no mechanism {name!r}; known are {known}.")


MECHANISMS = Registry(
    {
        mechanism.name: mechanism
        for mechanism in (
            TrigRF,
            PosRF,
            GERF,
            OPRF,
            PoisRF,
            GeomRF,
            PoisRFPlus,
            GeomRFPlus,
            OptPoisRF,
        )
    }
)

__all__ = [
    "GERF",
    "MECHANISMS",
    "OPRF",
    "GeomRF",
    "GeomRFPlus",
    "Mechanism",
    "OptPoisRF",
    "PoisRF",
    "PoisRFPlus",
    "PosRF",
    "TrigRF",
]
