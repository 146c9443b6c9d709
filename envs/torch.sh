#!/bin/sh
# Installs torch, after requirements.lock. On Linux from PyTorch's index for the CPU, unless a GPU is here, pip has an index of this
# site's own, or that index does not answer; else from pip's own, with what that build needs for a GPU. For the Makefile.
# TORCH_INDEX names another index of PyTorch's; its files have no hash in the locks, unless it is one for the CPU.
# usage: sh envs/torch.sh PYTHON
python=$1
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
install() { "$python" -m pip install --quiet --no-compile "$@"; }

[ "$(uname -s)" = Linux ] || index=
if [ -z "$TORCH_INDEX" ]; then
    if [ -e /proc/driver/nvidia ] || [ -e /dev/kfd ]; then index=; fi
    case $("$python" -m pip config list) in *index-url=*) index= ;; esac
fi
if [ "$index" ]; then
    if "$python" -c 'import sys, urllib.request as web; web.urlopen(sys.argv[1], timeout=10)' "$index/torch/" >/dev/null 2>&1; then
        echo "heed: torch is installed from $index" >&2
    else
        echo "heed: $index does not answer: pip's own index decides on torch, which on Linux means several GB for a GPU" >&2
        index=
    fi
fi

if [ "$index" ] && [ "${index%/cpu}" = "$index" ]; then
    install "$(grep -o '^torch==[^ ]*' envs/torch.lock)" --extra-index-url="$index"
    exit
fi
install --require-hashes --no-deps --requirement envs/torch.lock ${index:+--extra-index-url="$index"} || exit
for_cuda='import importlib.metadata as m, sys; sys.exit(not any(need.startswith(("cuda", "nvidia")) for need in m.requires("torch")))'
if "$python" -c "$for_cuda"; then install --require-hashes --requirement envs/cuda.lock; fi
