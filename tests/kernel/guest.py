"""Every algorithm, as a module and as eBPF, in Debian's kernels 6.1 and 6.12: `make guest-test`.

Debian's cloud kernels and their headers come by apt into target/guest. A guest in QEMU's virtual time needs
no KVM and sees the same clock however busy the host is; a transfer there is of a few seconds, through a
bottleneck between network namespaces (guest/init). Prints the table of docs/kernel.md; exits with 1 if
anything failed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import gzip
import lzma
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/kernel/guest"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CACHE = TARGET / "guest"

#: Name that apt has for the newest kernel of a series.
SERIES = {"6.1": "linux-image-cloud-amd64", "6.12": "linux-image-6.12-cloud-amd64"}
PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "dash": "dash",
    "ip": "iproute2",
    "gcc": "gcc",
    "make": "make",
    "dpkg": "dpkg",
    "apt-get": "apt",
}
DRIVERS = ("veth", "sch_netem", "sch_tbf", "tcp_diag")
#: Names that the kernel has itself.
TAKEN = ("reno", "cubic")
RATE_MBPS = 20
MEMORY_MB = 1024
LIMIT_S = 3600


def call(*words: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def need(tools: dict[str, str]) -> None:
    """Has apt install what is missing, in CI; says what to install elsewhere."""
    missing = sorted({package for tool, package in tools.items() if shutil.which(tool) is None})
    if not missing:
        return
    if os.environ.get("CI") and os.geteuid() == 0:
        call("apt-get", "update", "-qq")
        call("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing)
    else:
        sys.exit(f"guests need more: apt-get install --no-install-recommends {' '.join(missing)}")


def depends(package: str) -> list[str]:
    """Names of packages; none if apt does not know it."""
    done = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", package], capture_output=True, text=True, check=False
    )
    found = re.search(r"^Depends: (.*)$", done.stdout, re.MULTILINE)
    return re.findall(r"(?:^|[,|] *)([a-z0-9][a-z0-9.+-]*)", found[1]) if found else []


def kernels() -> list[str]:
    """The kernels' releases, as `uname -r` prints them."""
    releases = []
    for series, package in SERIES.items():
        images = [name for name in depends(package) if name.startswith(f"linux-image-{series}.")]
        if images:
            releases.append(images[0].removeprefix("linux-image-"))
        else:
            print(f"SKIPPED: apt has no Linux {series} ({package})", flush=True)
    if not releases:
        sys.exit("apt has none of these kernels; they are in Debian 12: bookworm and bookworm-security")
    return releases


def fetch(release: str) -> Path:
    """A folder with the kernel, its drivers and headers."""
    folder = CACHE / release
    headers = f"linux-headers-{release}"
    parts = [name for name in depends(headers) if re.match("linux-(headers|kbuild)-", name)]
    need({gcc: gcc for gcc in re.findall(r"\bgcc-[0-9]+", " ".join(depends(headers)))})
    if folder.exists():
        return folder
    unpacked = CACHE / f"{release}.part"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    call("apt-get", "download", f"linux-image-{release}", headers, *parts, cwd=unpacked)
    for package in unpacked.glob("*.deb"):
        call("dpkg", "-x", package, unpacked)
        package.unlink()
    build = unpacked / f"usr/src/{headers}"
    # The way to the other half of the headers is absolute.
    makefile = build / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src", f"{folder}/usr/src"))
    # With it, modules get BTF, which needs pahole.
    (build / "vmlinux").unlink(missing_ok=True)
    unpacked.rename(folder)
    return folder


def modules(release: str, folder: Path) -> list[Path]:
    source = CACHE / f"{release}.modules"
    call("make", "-s", "-C", ROOT / "crates/kernel/module", "source", f"SOURCE={source}")
    module = source / "crates/kernel/module"
    call("make", "-s", "-j2", "-C", module, f"KERNEL={folder}/usr/src/linux-headers-{release}")
    return sorted(module.glob("cwnd_*.ko"))


def drivers(folder: Path) -> list[tuple[str, bytes]]:
    """Drivers as modules, after those that they depend on."""
    files = {file.name.split(".")[0].replace("-", "_"): file for file in folder.glob("lib/modules/**/*.ko*")}
    found: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in found or name not in files:
            return  # built in
        data = files[name].read_bytes()
        data = lzma.decompress(data) if files[name].suffix == ".xz" else data
        listed = re.search(rb"\0depends=([^\0]*)", data)
        for other in listed[1].decode().split(",") if listed else []:
            add(other.replace("-", "_"))
        found[name] = data

    for name in DRIVERS:
        add(name)
    return list(found.items())


def image(release: str, folder: Path, programs: dict[str, Path], plan: list[str]) -> Path:
    """The guest's file system."""
    root = CACHE / f"{release}.root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "dev", "drivers", "modules", "proc", "run", "sys"):
        (root / name).mkdir(parents=True)
    for name, program in programs.items():
        shutil.copy(program, root / "bin" / name)
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        for library in re.findall(r"(/\S+) \(", done.stdout):
            place = root / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    for number, (name, data) in enumerate(drivers(folder)):
        (root / "drivers" / f"{number}-{name}.ko").write_bytes(data)
    for module in modules(release, folder):
        shutil.copy(module, root / "modules")
    shutil.copy(HERE / "init", root / "init")
    (root / "init").chmod(0o755)
    (root / "plan").write_text("".join(f"{line}\n" for line in plan))
    names = "\n".join(str(file.relative_to(root)) for file in root.rglob("*"))
    pack = ["busybox", "cpio", "-o", "-H", "newc"]
    archive = subprocess.run(pack, cwd=root, input=names.encode(), capture_output=True, check=True)
    packed = CACHE / f"{release}.image"
    packed.write_bytes(gzip.compress(archive.stdout, 1))
    return packed


def boot(release: str, programs: dict[str, Path], plan: list[str]) -> list[str]:
    """Boots the guest and returns the lines that it marks with `@`."""
    folder = CACHE / release
    packed = image(release, folder, programs, plan)
    log = CACHE / f"{release}.log"
    machine = (
        f"qemu-system-x86_64 -nodefaults -display none -serial stdio -no-reboot -m {MEMORY_MB}"
        " -cpu max,-rdrand,-rdseed -seed 7 -icount shift=0,sleep=off -rtc clock=vm"
        f" -kernel {folder}/boot/vmlinuz-{release} -initrd {packed} -append"
    )
    kernel = "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr random.trust_cpu=off ipv6.disable=1"
    with log.open("w") as out:
        try:
            subprocess.run(
                [*machine.split(), kernel],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            out.write(f"\n@ failed after {LIMIT_S} s\n")
    text = log.read_text(errors="replace")
    return [line.removeprefix("@ ").strip() for line in text.splitlines() if line.startswith("@ ")]


def programs() -> dict[str, Path]:
    call("cargo", "build", "--quiet", "--release", "-p", "cwnd-kernel", "--example", "kernel", cwd=ROOT)
    traffic = CACHE / "traffic"
    call("gcc", "-O2", "-Wall", "-Wextra", "-Werror", HERE / "traffic.c", "-o", traffic)
    found = {name: Path(shutil.which(name) or name) for name in ("busybox", "ip", "tc", "ss")}
    found["sh"] = Path(shutil.which("dash") or "dash")
    return found | {"kernel": TARGET / "release/examples/kernel", "traffic": traffic}


def judge(release: str, reported: list[str], plan: list[str]) -> tuple[dict[tuple[str, str], str], list[str]]:
    """A cell for each transfer, by the way in and the algorithm; what failed."""
    failures = [f"{release}: {line}" for line in reported if line.startswith("failed")]
    if not any(line.startswith("done") for line in reported):
        failures.append(f"{release}: the guest did not come to its end; see {CACHE / release}.log")
    ran = [line.split() for line in reported if line.startswith("ran ")]
    expected = sum(line != "parameters" for line in plan)
    if len(ran) != expected:
        failures.append(f"{release}: {len(ran)} transfers of {expected}")
    cells = {}
    for _, by, algorithm, name, *pairs in ran:
        values = dict(pair.split("=", 1) for pair in pairs)
        lossy = (by, algorithm) in cells
        wrong = ", ".join(faults(values, name, lossy))
        windows = [int(window) for window in values.get("cwnd", "0").split(",")]
        cell = (
            f"{values.get('mbps')} / {values.get('retransmitted')} / "
            f"{statistics.mean(windows[len(windows) // 2 :]):.0f}"
        )
        cells[by, f"{algorithm}, 60 kB" if lossy else algorithm] = f"{cell} FAILED" if wrong else cell
        if wrong:
            failures.append(f"{release}: {algorithm} by {by}: {wrong}")
    return cells, failures


def faults(values: dict[str, str], name: str, lossy: bool) -> Iterator[str]:
    if "mbps" not in values:
        yield values.get("error", "nothing sent")
        return
    if values["cca"] != name:
        yield f"the socket has {values['cca']}"
    if values["ss"] != "yes":
        yield "ss does not name it"
    if float(values["mbps"]) < RATE_MBPS / 2:
        yield f"{values['mbps']} Mbit/s of {RATE_MBPS}"
    if values["absurd"] != "0":
        yield f"{values['absurd']} samples of an absurd ssthresh"
    if lossy and int(values["changes"]) < 100:
        yield f"{values['changes']} losses"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    need(PACKAGES)
    CACHE.mkdir(parents=True, exist_ok=True)
    registry = (ROOT / "algorithms/registry.h").read_text()
    algorithms = re.findall(r"^\s*CC\((\w+),", registry, re.MULTILINE)
    plan = ["parameters"]
    for each in algorithms:
        name = f"our_{each}" if each in TAKEN else each
        plan += [f"module {each} {name}", f"ebpf {each} {name}"]
    plan += ["lossy elastic elastic"]
    releases = kernels()
    for release in releases:
        fetch(release)
    ready = programs()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reported = list(pool.map(lambda release: boot(release, ready, plan), releases))
    results = [judge(release, lines, plan) for release, lines in zip(releases, reported, strict=True)]
    columns = [(release, by) for release in releases for by in ("module", "ebpf")]
    print("Mbit/s / segments sent again / cwnd, mean of the second half")
    print(f"| algorithm | {' | '.join(f'{release}, {by}' for release, by in columns)} |")
    print(f"|---|{'--:|' * len(columns)}")
    for each in [*algorithms, "elastic, 60 kB"]:
        cells = [result[0].get((by, each), "") for result in results for by in ("module", "ebpf")]
        print(f"| {each} | {' | '.join(cells)} |")
    failures = [failure for result in results for failure in result[1]]
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
