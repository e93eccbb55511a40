"""``python -m numelt``: run a program with numelt in NumPy's place; see `numelt._launcher`."""

from numelt._launcher import main

if __name__ == "__main__":
    main()
