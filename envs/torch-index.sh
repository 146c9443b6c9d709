#!/bin/sh
# Prints the option of pip with which torch for the CPU is installed, or nothing where pip's own index is to decide: not on
# Linux, a GPU is here, pip has an index of this site's own, or PyTorch's index does not answer. For the Makefile.
# usage: sh envs/torch-index.sh PYTHON
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
[ "$(uname -s)" = Linux ] || exit 0
if [ -z "$TORCH_INDEX" ]; then
    if [ -e /proc/driver/nvidia ] || [ -e /dev/kfd ]; then exit 0; fi
    case $("$1" -m pip config list) in *index-url=*) exit 0 ;; esac
fi
if "$1" -c 'import sys, urllib.request as web; web.urlopen(sys.argv[1], timeout=10)' "$index/torch/" >/dev/null 2>&1; then
    echo "heed: no GPU is here: torch is installed from $index" >&2
    printf '%s\n' "--extra-index-url=$index"
else
    echo "heed: $index does not answer: pip's own index decides on torch, which on Linux means several GB for a GPU" >&2
fi
