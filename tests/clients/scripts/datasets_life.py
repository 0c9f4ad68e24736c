"""A table pushed by ``datasets`` and loaded by it.

Arguments: the repository's id.
"""

import sys

from datasets import Dataset, load_dataset

repo_id = sys.argv[1]
table = Dataset.from_dict({"x": list(range(100)), "y": [str(n) for n in range(100)]})
table.push_to_hub(repo_id)
loaded = load_dataset(repo_id, split="train")
assert loaded.to_dict() == table.to_dict()
print("lived")
