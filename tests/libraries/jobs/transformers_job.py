"""transformers: a tiny GPT-2, trained for some steps and asked to go on writing."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1
)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(2, 50, (4, 16))
for _ in range(4):
    loss = model(tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"{loss.item():.5f}")
model.eval()
found = model.generate(tokens[:1, :4], max_new_tokens=8, do_sample=False, pad_token_id=0)
print(found.tolist())
