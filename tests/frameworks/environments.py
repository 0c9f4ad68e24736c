"""The environment that holds every framework of the table in ``docs/reference/frameworks.md``.

They do not collide in these versions. :mod:`tests.frameworks.roundtrip` runs there, with the client
from this checkout.
"""

from pathlib import Path

from tests.environments import Environments

NAME = "frameworks"
FRAMEWORKS = Environments(
    Path(__file__).resolve().parents[2] / ".clients",
    {
        NAME: (
            "catboost==1.2.10",
            "flax==0.12.8",
            "jax==0.10.2",
            "jax2onnx==0.17.1",
            "keras==3.15.1",
            "lightgbm==4.7.0",
            "onnx==1.23.2",
            "onnxruntime==1.31.1",
            "onnxscript==0.7.2",
            "pandas==3.1.1",
            "scikit-learn==1.9.1",
            "skl2onnx==1.20.0",
            "tensorflow==2.21.0",
            "tf2onnx==1.17.0",
            "torch==2.13.0",
            "transformers==5.23.0",
            "xgboost-cpu==3.2.0",
            # What the client needs.
            "httpx>=0.28",
            "nvidia-ml-py>=13",
            "platformdirs>=4",
            "PyYAML>=6",
            "rich>=15",
            "typer>=0.29",
        ),
    },
)

if __name__ == "__main__":
    FRAMEWORKS.make_all()
