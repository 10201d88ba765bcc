"""Plain tables for terminals, a blank column between cells."""

from collections.abc import Sequence

from gpuboard.wire.clean import clean_text


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows, the first of them as heading."""
    clean = [[clean_text(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in clean) for column in range(len(clean[0]))]
    for row in clean:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
