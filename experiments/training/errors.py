"""What goes wrong in training, in one sentence each."""


class TrainingError(Exception):
    """A run cannot go on; the message is one sentence."""


class Diverged(TrainingError):
    """The loss is not finite any more."""

    def __init__(self, step: int, loss: float):
        super().__init__(f"the loss is {loss} at step {step}; the run was stopped there")
        self.step = step
