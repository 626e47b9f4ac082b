"""A plan that says nothing: the same in every trial, as long as a short plan, true of any program."""

from typing import Final

DUMMY_VERSION: Final = "1"
DUMMY_PLAN: Final = """\
1. Read the program from its first line to its last, and note what each part is there for.
2. Choose what is to change, and in which order, so that each change can be checked by reading.
3. Make the changes one by one; keep the name, the parameters and the meaning of what is called from outside.
4. Write the whole source again, complete, with nothing left out or abbreviated.
5. Read the result once more from the beginning, and mend what does not fit together."""
