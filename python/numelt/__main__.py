"""``python -m numelt``: run a program with numelt in NumPy's place; see `numelt.tools.launcher`."""

from numelt.tools.launcher import main

if __name__ == "__main__":
    main()
