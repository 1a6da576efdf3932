"""``python -m cranfield`` is the command ``cranfield``."""

import signal


def main() -> None:
    """The entry point of the command: a Ctrl-C while it loads or ends shows no traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the verb begins
    from cranfield.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
