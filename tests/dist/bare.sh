#!/usr/bin/env bash
# Installs the wheels of `make dist` in a Debian that has Python, and no compiler, Rust or node, and uses them there.
# bare.sh FOLDER ROOT: the folder of the wheels, and where that Debian is or will be.
set -euo pipefail

fail() {
	echo "dist-test: $1" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || fail "needs root, for chroot"
for name in cwnd cwnd_quic; do
	found=("$1/$name"-*manylinux*_"$(uname -m)".whl)
	[ -f "${found[0]}" ] || fail "$1 has no wheel of $name for $(uname -m): make dist"
	[ ${#found[@]} = 1 ] || fail "$1 has several wheels: ${found[*]}"
	wheels+=("${found[0]}")
done
root=$2
if [ ! -f "$root/ready" ]; then
	command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
	rm -rf "$root"
	debootstrap --variant=minbase --include=python3,python3-venv bookworm "$root" >/dev/null
	touch "$root/ready"
fi

for folder in proc sys etc/ssl/certs; do
	mkdir -p "$root/$folder"
done
# Gone with this process's mounts, whatever happens to it.
exec unshare --mount bash -euo pipefail -c '
	root=$1
	shift
	mount --bind /proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	rm -rf "$root/srv/cwnd"
	mkdir "$root/srv/cwnd"
	cp --parents pyproject.toml tests/dist/use.sh tests/python/test_tutorials.py docs/tutorials/*.md "$root/srv/cwnd"
	cp "$@" "$root/srv/cwnd"
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv/cwnd LC_ALL=C.UTF-8 \
		chroot "$root" bash -euo pipefail /srv/cwnd/tests/dist/use.sh
' bash "$root" "${wheels[@]}"
