#!/bin/sh
# Installs torch, after requirements.lock. On Linux where no GPU is: the build for the CPU of cpu.lock, from PyTorch's index or from
# what pip's settings name. Otherwise the build of cuda.lock. For the Makefile.
# TORCH_INDEX names another index of PyTorch's, which then decides; its files have no hash here, unless it is one for the CPU.
# usage: sh envs/torch.sh PYTHON
python=$1
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
install() { "$python" -m pip install --quiet --no-compile "$@"; }

if [ -z "$TORCH_INDEX" ]; then
    if [ "$(uname -s)" != Linux ] || [ -e /proc/driver/nvidia ] || [ -e /dev/kfd ]; then
        install --require-hashes --requirement envs/cuda.lock
        exit
    fi
    case $("$python" -m pip config list) in *index-url=*) index= ;; esac
fi
if [ "$index" ] && ! "$python" -c 'import sys, urllib.request as web; web.urlopen(sys.argv[1], timeout=10)' "$index/torch/" >/dev/null 2>&1; then
    echo "heed: $index does not answer" >&2
    index=
fi
case $index in
    '' | */cpu) install --require-hashes --no-deps --requirement envs/cpu.lock ${index:+--extra-index-url="$index"} && exit ;;
    *) install "$(grep -o '^torch==[^ ]*' envs/cuda.lock)" --extra-index-url="$index"; exit ;;
esac
echo "heed: the build of torch for the CPU, in envs/cpu.lock, is not to be had: the public one follows, which is for GPUs and has several GB" >&2
install --require-hashes --requirement envs/cuda.lock
