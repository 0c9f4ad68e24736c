"""Apache TVM: Relax import, pass pipelines, tuned schedules, native libraries as artefacts."""
