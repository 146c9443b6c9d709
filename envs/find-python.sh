#!/bin/sh
# Prints the Python that .venv is made with: the one that is named, else the first on PATH that fits. For the Makefile.
# usage: sh envs/find-python.sh [PYTHON]
fits=
if [ "$#" -eq 0 ]; then
    named=no
    set -- python3.11 python3.12 python3.13 python3.14 python3
else
    named=yes
fi
for python in "$@"; do
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1 || continue
    fits=$python
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || continue
    printf '%s\n' "$python"
    exit 0
done
if [ -n "$fits" ]; then
    echo "heed: $fits cannot make an environment: it has no venv or no ensurepip (on Debian and Ubuntu they are in the package python3-venv, or python3.11-venv for python3.11)" >&2
elif [ "$named" = yes ]; then
    echo "heed: PYTHON=$1 is no Python 3.11 to 3.14: name another, or none, and make looks on PATH" >&2
else
    echo "heed: found no Python 3.11 to 3.14 on PATH: looked for $*. Install one, or name it: make PYTHON=/path/to/python3.11" >&2
fi
exit 1
