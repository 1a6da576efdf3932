"""``python -m cranfield`` is the command ``cranfield``."""

import atexit
import gc
import signal


def main() -> None:
    """The entry point of the command: a Ctrl-C while it loads or ends shows no traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the verb begins
    atexit.register(gc.freeze)  # or Python searches everything for garbage once more, a tenth of a small evaluation
    from cranfield.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
