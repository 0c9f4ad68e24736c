"""Inputs by which models of transformers run, and the names of their outputs."""

from pathlib import Path
from typing import Any

import pytest

from tests.programs import needs
from tests.workers.conversion.folders import SIZES

pytestmark = [needs("transformers"), pytest.mark.slow]

_SERIES = {
    "prediction_length": 4,
    "context_length": 8,
    "lags_sequence": [1, 2],
    "num_time_features": 2,
    "d_model": 16,
}
_NARROW: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}


@pytest.mark.parametrize(
    ("kind", "config", "members", "shapes"),
    [
        (
            "BertForMultipleChoice",
            "BertConfig",
            SIZES,
            {
                "input_ids": ["batch", "choices", "sequence"],
                "attention_mask": ["batch", "choices", "sequence"],
                "token_type_ids": ["batch", "choices", "sequence"],
            },
        ),
        (
            "CanineModel",
            "CanineConfig",
            {**_NARROW, "num_hidden_layers": 1, "num_hash_buckets": 64},
            {
                "input_ids": ["batch", "sequence"],
                "attention_mask": ["batch", "sequence"],
                "token_type_ids": ["batch", "sequence"],
            },
        ),
        (
            "DecisionTransformerModel",
            "DecisionTransformerConfig",
            {"state_dim": 5, "act_dim": 2, "hidden_size": 32, "n_layer": 1, "n_head": 2},
            {
                "states": ["batch", "sequence", 5],
                "actions": ["batch", "sequence", 2],
                "returns_to_go": ["batch", "sequence", 1],
                "timesteps": ["batch", "sequence"],
                "attention_mask": ["batch", "sequence"],
            },
        ),
        (
            "InformerForPrediction",
            "InformerConfig",
            _SERIES,
            {
                "past_values": ["batch", 10],
                "past_time_features": ["batch", 10, 2],
                "past_observed_mask": ["batch", 10],
                "future_values": ["batch", 4],
                "future_time_features": ["batch", 4, 2],
            },
        ),
        pytest.param(
            "TimesFmModelForPrediction",
            "TimesFmConfig",
            {
                **_NARROW,
                "num_hidden_layers": 1,
                "head_dim": 8,
                "patch_length": 8,
                "context_length": 32,
                "horizon_length": 4,
            },
            {"past_values": ["batch", "sequence"], "freq": ["batch"]},
            marks=pytest.mark.filterwarnings("ignore:To copy construct from a tensor"),
        ),
        (
            "TapasModel",
            "TapasConfig",
            {**SIZES, "max_position_embeddings": 64},
            {
                "input_ids": ["batch", "sequence"],
                "attention_mask": ["batch", "sequence"],
                "token_type_ids": ["batch", "sequence", 7],
            },
        ),
    ],
)
def test_a_model_runs_on_inputs_chosen_by_its_configuration(
    tmp_path: Path, kind: str, config: str, members: dict[str, Any], shapes: dict[str, Any]
) -> None:
    import torch  # noqa: PLC0415  takes seconds
    import transformers  # noqa: PLC0415  takes seconds

    from workers.conversion.inputs import arrays_of, long_sizes, specs_of  # noqa: PLC0415
    from workers.conversion.wrapper import Selected, result_names  # noqa: PLC0415

    model = getattr(transformers, kind)(getattr(transformers, config)(**members)).eval()
    specs = specs_of(model, tmp_path)
    sizes = long_sizes(model.config, 2)
    arrays = dict(zip(specs, arrays_of(specs, model.config, sizes, seed=0), strict=True))
    named = {
        name: [specs[name].axes.get(axis, size) for axis, size in enumerate(array.shape)]
        for name, array in arrays.items()
    }
    assert named == shapes
    with torch.no_grad():
        results = Selected(model, list(specs), {"return_dict": True}).results(
            *map(torch.from_numpy, arrays.values())
        )
    assert result_names(results)


def test_results_in_lists_are_numbered_and_states_are_left_out() -> None:
    import torch  # noqa: PLC0415  takes seconds

    from workers.conversion.wrapper import Selected, result_names  # noqa: PLC0415

    class Detector(torch.nn.Module):
        def forward(self, x: Any) -> dict[str, Any]:
            return {"maps": (x, x + 1), "scores": x, "past_key_values": x, "nothing": None}

    module = Selected(Detector(), ["x"], {})
    assert result_names(module.results(torch.zeros(1))) == ("maps_0", "maps_1", "scores")


def test_the_length_of_a_tensor_stays_dynamic() -> None:
    import torch  # noqa: PLC0415  takes seconds
    import transformers  # noqa: PLC0415
    from transformers.models.bert import modeling_bert  # noqa: PLC0415

    from workers.conversion.lengths import keep_lengths_dynamic  # noqa: PLC0415

    class Rows(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.new_zeros(modeling_bert.len(x), len([x]))

    keep_lengths_dynamic(transformers.BertModel(transformers.BertConfig(**SIZES)))
    free = {0: torch.export.Dim.AUTO}
    program = torch.export.export(Rows(), (torch.zeros(2, 3),), dynamic_shapes=(free,))
    assert isinstance(next(iter(program.graph.nodes)).meta["val"].shape[0], torch.SymInt)
