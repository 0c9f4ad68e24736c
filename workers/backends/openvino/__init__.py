"""OpenVINO: the compiler of Intel's and ARM's CPUs, int8 by NNCF, and a telling profiler."""
