"""``python -m cranfield`` is the command ``cranfield``."""

import atexit
import gc
import signal


def end_on_interrupt() -> None:
    """Let a Ctrl-C end the process at once, without a traceback: there is nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """The entry point of the command: a Ctrl-C shows no traceback, also while it loads or ends."""
    end_on_interrupt()
    atexit.register(gc.freeze)  # or Python searches everything for garbage once more, a tenth of a small evaluation
    from cranfield.cli.main import main as command

    try:
        command()
    finally:
        end_on_interrupt()


if __name__ == "__main__":
    main()
