"""One trainer for every Transformer here: `train(config, workdir)`.

A configuration is a frozen dataclass that says what is learned (`Config`); its docstring is the
lab note. A run can be killed at any time: it goes on from its last checkpoint, and its metrics are
those of a run that was never disturbed, bit for bit on one device.
"""

from experiments.training.config import Config, ConfigError, read
from experiments.training.errors import Diverged, TrainingError
from experiments.training.loop import Trained, train
from experiments.training.optimizer import Optimizer

__all__ = [
    "Config",
    "ConfigError",
    "Diverged",
    "Optimizer",
    "Trained",
    "TrainingError",
    "read",
    "train",
]
