"""`python -m cudanalyst`."""

from cudanalyst.cli import main

if __name__ == "__main__":
    main()
