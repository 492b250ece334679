"""Linux's values for `crates/engine/tests/all/linux_rack.rs`: bulk flows and transfers over small buffers, with random losses.

`.venv/bin/python crates/engine/tests/linux/rack.py` writes `crates/engine/tests/all/linux-rack.csv` in some minutes, after `make kernel` and
`cwnd linux setup`.
"""

import re
import statistics
from pathlib import Path

import cwnd

HERE = Path(__file__).parent
TABLE = HERE.parent / "all" / "linux-rack.csv"
SIZES = ("3KB", "20KB", "bulk")
SEEDS = range(1, 6)


def rows(size: str, seed: int) -> list[str]:
    """A row for each link: the goodput of a bulk flow in Mbps, or the geometric mean of the transfers' completion times in ms.

    A SYN that is lost costs a second: in the arithmetic mean of 20 transfers nothing else would count.
    """
    file = HERE / f"rack-{size}.toml"
    links = re.findall(r'name = "buffer-(\d)-loss-(\d)"', file.read_text())
    flows = cwnd.run(file, seed=seed, world="linux").flows
    values = flows["goodput_mbps" if size == "bulk" else "fct_ms"].to_list()
    count = len(values) // len(links)
    means = [statistics.geometric_mean(values[group * count :][:count]) for group in range(len(links))]
    return [f"{size},{buffer},{loss},{seed},{mean:.4g}" for (buffer, loss), mean in zip(links, means, strict=True)]


if __name__ == "__main__":
    lines = [row for size in SIZES for seed in SEEDS for row in rows(size, seed)]
    TABLE.write_text("\n".join(["size,buffer_pkts,loss_percent,seed,value", *lines]) + "\n")
