"""A small BERT with random weights: pushed by ``transformers``, loaded by it, the same outputs.

Arguments: the repository's id and the path of an empty folder to work in.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, BertTokenizer

repo_id, workdir = sys.argv[1], Path(sys.argv[2])

vocabulary = workdir / "vocab.txt"
vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "star"]))
tokenizer = BertTokenizer(str(vocabulary))
torch.manual_seed(0)
network = BertModel(
    BertConfig(
        vocab_size=7, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=32,
    )
).eval()  # fmt: skip

network.push_to_hub(repo_id)
tokenizer.push_to_hub(repo_id)

loaded = AutoModel.from_pretrained(repo_id).eval()
loaded_tokenizer = AutoTokenizer.from_pretrained(repo_id)
tokens = loaded_tokenizer("a star", return_tensors="pt")
assert (
    tokens["input_ids"].tolist() == tokenizer("a star", return_tensors="pt")["input_ids"].tolist()
)
with torch.no_grad():
    assert torch.equal(network(**tokens).last_hidden_state, loaded(**tokens).last_hidden_state)
print("lived")
