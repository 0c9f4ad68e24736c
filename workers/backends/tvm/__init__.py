"""Apache TVM: Relax import, pass pipelines, tuned schedules, a native library as the artefact."""
