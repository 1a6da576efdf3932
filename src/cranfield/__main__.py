"""``python -m cranfield`` is the command ``cranfield``."""

import signal


def main() -> None:
    """The entry point of the command: a Ctrl-C while it loads ends it without a traceback."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cranfield.cli.main import main as command

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


if __name__ == "__main__":
    main()
