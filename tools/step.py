"""Runs a command as a step of make: prints what it does and how long it takes.

    python3 tools/step.py FILE SECONDS TEXT -- COMMAND...

TEXT is printed first, with the time that the step took last time, which FILE (JSON) keeps.
Without one, SECONDS is printed, the time on two cores. Exits as COMMAND does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


def main(arguments: list[str]) -> int:
    end = arguments.index("--")
    file, expected_s, text = arguments[:end]
    taken_s = _read(Path(file))
    last_s = taken_s.get(text)
    guess = f"{expected_s} s on two cores" if last_s is None else f"{last_s:.0f} s last time"
    print(f"make: {text} ({guess})", flush=True)
    begin = time.monotonic()
    try:
        code = subprocess.run(arguments[end + 1 :], check=False).returncode
    except KeyboardInterrupt:
        return 130
    if code:
        print(f"make: failed: {text}", file=sys.stderr)
        return code
    taken_s = _read(Path(file)) | {text: time.monotonic() - begin}
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(json.dumps(taken_s, indent=1))
    print(f"make: {text}: {taken_s[text]:.0f} s", flush=True)
    return 0


def _read(file: Path) -> dict[str, float]:
    try:
        taken_s: dict[str, float] = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return taken_s


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
