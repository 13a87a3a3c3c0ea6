"""`python -m overread` is `overread`."""

from overread.cli.main import main

main()
