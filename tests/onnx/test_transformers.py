"""Models of the library transformers, unmodified, exported with dynamic batch and length."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import torch, transformers as t

class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(ids, attention_mask=mask, use_cache=False).logits

def words(batch, length):
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[0, length - 1:] = 0
    return torch.randint(0, 99, (batch, length)), mask

torch.manual_seed(0)
sizes = dict(vocab_size=99, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
models = {
    "bert": t.BertModel(t.BertConfig(**sizes)),
    "gpt2": Logits(t.GPT2LMHeadModel(t.GPT2Config(vocab_size=99, n_positions=64, n_embd=16, n_layer=2, n_head=2))),
    "llama": Logits(t.LlamaForCausalLM(t.LlamaConfig(num_key_value_heads=1, **sizes))),
}
for name, model in models.items():
    shapes = ({0: "b", 1: "t"},) * 2
    program = torch.onnx.export(model.eval(), words(2, 7), dynamic_shapes=shapes)
    for given in (words(2, 7), words(3, 4)):
        with torch.no_grad():
            want = model(*given)
        want = want if isinstance(want, torch.Tensor) else want[0]
        kept = given[1].bool()
        print(name, torch.allclose(program(*given)[0][kept], want[kept], atol=1e-4))
"""


@pytest.mark.slow
def test_models_of_transformers(tmp_path: Path) -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed (`make test-all` brings it)")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "tautograd", "run", "--as-torch", str(script)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == [w for n in ("bert", "gpt2", "llama") for w in (n, "True") * 2]
