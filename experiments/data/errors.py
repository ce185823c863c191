"""What goes wrong with data, in one sentence each."""


class DataError(Exception):
    """Data are missing, damaged or unknown; the message is one sentence."""


class Unreachable(Exception):
    """A file can be neither found nor downloaded: a stand-in is in order."""
