"""What may reach a terminal, for the commands: see `ctx.printable`."""

from ctx.printable import UNSAFE, printable, printable_lines

__all__ = ["UNSAFE", "printable", "printable_lines"]
