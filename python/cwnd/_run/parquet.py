"""Tables of a sweep as Parquet files, the same bytes everywhere."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


#: Rows in a row group of the joined tables.
_ROW_GROUP = 1 << 16


def parquet(table: pl.DataFrame, *, level: int | None = None, statistics: bool = True) -> bytes:
    """The table as a file."""
    # Not directly to the file: polars raises no distinct error for a full disk.
    data = io.BytesIO()
    table.write_parquet(data, compression_level=level, statistics=statistics)
    return data.getvalue()


def join(files: Sequence[Path], to: Path) -> None:
    """Joins tables into one without holding them in memory."""
    import polars as pl

    try:
        pl.scan_parquet(list(files)).sink_parquet(to, row_group_size=_ROW_GROUP, maintain_order=True)
    except pl.exceptions.PolarsError as failed:
        # polars reports an error of the disk as text.
        if "os error 28" in str(failed):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        raise
    with to.open("rb+") as file:
        os.fsync(file.fileno())
