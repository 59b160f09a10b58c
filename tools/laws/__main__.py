"""Print every violation; exit with 1 if there is one."""

import sys

from tools.laws import violations


def main() -> int:
    """Run all laws over the checkout."""
    found = violations()
    for violation in found:
        print(violation)
    print(f"{len(found)} violations of the laws" if found else "The laws are kept.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
