"""``python -m streams.cli``: the command without its installed script."""

from streams.cli.main import main

if __name__ == "__main__":
    main()
