"""`python -m heed.cli` is `heed`."""

from heed.cli.program import main

if __name__ == "__main__":
    main()
