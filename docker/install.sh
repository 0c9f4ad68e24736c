#!/bin/sh
# Installs what an image holds; `gpu` is installed over `cpu`. The Dockerfile and its test run this.
#   docker/install.sh cpu|gpu [OPTION OF uv pip install ...]
set -eu
cd "$(dirname "$0")/.."
image=$1
shift
set -- "$@" --constraint constraints.txt './client[onnxruntime]'
case $image in
cpu) set -- "$@" '.[convert,litert,openvino,s3,torch,tvm]' ;;
# The files of onnxruntime-gpu take the place of onnxruntime's, so it comes after it.
gpu) set -- "$@" '.[cuda,tensorrt]' --constraint docker/constraints-gpu.txt ;;
*)
    echo "There is no image '$image': choose cpu or gpu." >&2
    exit 2
    ;;
esac
# Confined children may not write byte code, so that each would compile what it imports.
exec uv pip install --compile-bytecode "$@"
