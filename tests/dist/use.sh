# What a user does with the wheels, in the chroot of bare.sh.
cd /srv/cwnd
for tool in cc gcc clang cargo rustc node npm make; do
	! command -v $tool || { echo "dist-test: this is not a bare system, it has $tool" >&2; exit 1; }
done
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --only-binary :all: ./cwnd-*.whl
PATH="$PWD/venv/bin:$PATH"
set -x

cwnd --version
version=$(cwnd --version)
[ "${version#cwnd }" = "$(python -c 'import cwnd; print(cwnd.__version__)')" ]
[ "${version#cwnd }" = "$(python -c 'import importlib.metadata as m; print(m.version("cwnd"))')" ]
# The wheel's allocator asks for huge pages.
_RJEM_MALLOC_CONF=confirm_conf:true python -c 'import cwnd._cwnd' 2>&1 | grep -Fx 'Set conf value: thp:always'
cwnd run --cca reno --cca cubic --rate 100Mbps --delay 10ms --duration 10s --out result
[ -s result/manifest.json ]
on_quinn=(run --cca elastic --rate 100Mbps --delay 10ms --duration 2s --on quinn)
refused=0
cwnd "${on_quinn[@]}" || refused=$?
[ $refused = 2 ]
pip install --quiet --disable-pip-version-check --only-binary :all: --no-index --find-links . "cwnd[quic]"
cwnd "${on_quinn[@]}"
cwnd report result --out report.html
[ -s report.html ]
cwnd papers
cwnd reproduce elastic-tcp --only fig10,table4 --quick --out paper
[ -s paper/*/verdicts.md ]
page=$(cwnd lab)
[ -s "${page#file://}" ]
cwnd completion bash >completion
bash -n completion
[ -s venv/share/man/man1/cwnd-run.1 ]

# The tutorials, by a pytest of its own.
python3 -m venv judge
judge/bin/pip install --quiet --disable-pip-version-check --only-binary :all: pytest
CWND_BIN=$PWD/venv/bin judge/bin/pytest -m "" tests/python/test_tutorials.py

# Into the kernel of this machine and out of it, even if the kernel then skips hooks, as doctor shows.
cwnd kernel doctor || [ $? = 1 ]
cwnd kernel load elastic --as cwnd_dist_test --force
grep -w cwnd_dist_test /proc/sys/net/ipv4/tcp_available_congestion_control
cwnd kernel unload cwnd_dist_test
! grep -w cwnd_dist_test /proc/sys/net/ipv4/tcp_available_congestion_control
