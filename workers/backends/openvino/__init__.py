"""OpenVINO on Intel and ARM CPUs, with int8 by NNCF."""
