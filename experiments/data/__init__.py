"""The data sets: eight tables of the UCI repository, MNIST and Fashion-MNIST.

    table = load_table("car")            # raw typed columns, labels, classes
    x = one_hot(table)                   # or ordinal(table): a float64 matrix
    images = load_images("mnist")        # pixels (60000, 28, 28) in [0, 1], labels

A file comes from the folder that the environment variable CRT_DATA names. Where that is not set, it
comes from `data/` in the checkout or from a cache of the user's, which is filled by download. Every
file is compared with a checksum of its content. Where a download is impossible, a real set that
scikit-learn brings along stands in: `origin(name).stand_in` tells which, and `stand_in_line` says
it in one line.
"""

from experiments.data.encodings import one_hot, ordinal
from experiments.data.errors import DataError
from experiments.data.images import Images, load_images, shrink
from experiments.data.origins import NAMES, Origin, origin, stand_in_line
from experiments.data.tables import Column, Table, load_table

__all__ = [
    "NAMES",
    "Column",
    "DataError",
    "Images",
    "Origin",
    "Table",
    "load_images",
    "load_table",
    "one_hot",
    "ordinal",
    "origin",
    "shrink",
    "stand_in_line",
]
