"""Linux's values for `crates/engine/tests/all/linux_rack.rs`: bulk flows and transfers over small buffers, with random losses.

`.venv/bin/python crates/engine/tests/linux/rack.py` writes `crates/engine/tests/all/linux-rack.csv` in some minutes, after `make kernel` and
`cwnd linux setup`.
"""

import re
import statistics
from itertools import product
from pathlib import Path

import cwnd

HERE = Path(__file__).parent
TABLE = HERE.parent / "all" / "linux-rack.csv"
SIZES = ("3KB", "20KB", "bulk")
SEEDS = 5


def rows(size: str) -> list[str]:
    """A row for each seed and link: the goodput of a bulk flow in Mbps, or the geometric mean of the transfers' completion times in ms.

    A SYN that is lost costs a second: in the arithmetic mean of 20 transfers nothing else would count.
    """
    file = HERE / f"rack-{size}.toml"
    links = re.findall(r'name = "buffer-(\d)-loss-(\d)"', file.read_text())
    flows = cwnd.run(file, repeat=SEEDS, world="linux").flows
    values = flows["goodput_mbps" if size == "bulk" else "fct_ms"].to_list()
    count = len(values) // (len(links) * SEEDS)
    means = [statistics.geometric_mean(values[first : first + count]) for first in range(0, len(values), count)]
    return [
        f"{size},{buffer},{loss},{seed},{mean:.4g}"
        for (seed, (buffer, loss)), mean in zip(product(range(1, SEEDS + 1), links), means, strict=True)
    ]


if __name__ == "__main__":
    lines = [row for size in SIZES for row in rows(size)]
    TABLE.write_text("\n".join(["size,buffer_pkts,loss_percent,seed,value", *lines]) + "\n")
