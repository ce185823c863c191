"""Every file of the data sets: where it lies, where it comes from, and the hash of its content."""

from collections.abc import Mapping
from dataclasses import dataclass

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class File:
    """`path` within a data folder, public address, and sha256 of the content, unzipped if zipped.

    Zipped files are known by their content because their bytes differ between mirrors.
    """

    path: str
    url: str
    sha256: str


def _uci(folder: str, name: str, sha256: str) -> tuple[File, ...]:
    return (File(f"uci/{name}", f"{UCI}/{folder}/{name}", sha256),)


def _idx(folder: str, address: str, hashes: Mapping[str, str]) -> tuple[File, ...]:
    return tuple(
        File(f"{folder}/{name}-ubyte.gz", f"{address}/{name}-ubyte.gz", sha256)
        for name, sha256 in hashes.items()
    )


FILES: Mapping[str, tuple[File, ...]] = {
    "abalone": _uci(
        "abalone",
        "abalone.data",
        "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
    ),
    "banknote": _uci(
        "00267",
        "data_banknote_authentication.txt",
        "d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9",
    ),
    "car": _uci(
        "car", "car.data", "b703a9ac69f11e64ce8c223c0a40de4d2e9d769f7fb20be5f8f2e8a619893d83"
    ),
    "yeast": _uci(
        "yeast", "yeast.data", "ffcc661b7d4f114d568ab89c41ec5a99a4553fc929c78597210f4e6fc4d845e3"
    ),
    "cmc": _uci(
        "cmc", "cmc.data", "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9"
    ),
    "nursery": _uci(
        "nursery",
        "nursery.data",
        "8e0389c3dd37590248a921c2726d869ee96b817761a35eb8416afa24f31f931d",
    ),
    "wifi": _uci(
        "00422",
        "wifi_localization.txt",
        "76121abf412b961f474e72baa8a802241f3032e85590c6680dd5280b1af8e0ab",
    ),
    "chess": _uci(
        "chess/king-rook-vs-king",
        "krkopt.data",
        "497b61d20d3d9e2ce310f9f4d2ca92dbdb0691d9e449d983ec6f7baf387dc7a9",
    ),
    "mnist": _idx(
        "mnist",
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        {
            "train-images-idx3": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "train-labels-idx1": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "t10k-images-idx3": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "t10k-labels-idx1": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
    ),
    "fashion_mnist": _idx(
        "fashion_mnist",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        {
            "train-images-idx3": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "train-labels-idx1": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "t10k-images-idx3": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "t10k-labels-idx1": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        },
    ),
}
"""The files of a set; of the images: training images and labels, then those of the test."""

WIKITEXT = File(
    "text/wikitext-2/test.txt.gz",
    "https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/wikitext-2/"
    "test.txt",
    "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
)
"""The test split of WikiText-2."""

MRPC = File(
    "glue/MRPC/msr_paraphrase_test.txt",
    "https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_test.txt",
    "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784",
)
"""The test split of the Microsoft Research Paraphrase Corpus."""

EVERY = (*(file for files in FILES.values() for file in files), WIKITEXT, MRPC)
"""All of them: their hosts are the ones that are asked."""
