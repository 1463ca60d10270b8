"""x-transformers: a small language model with rotary positions, trained for a few steps."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=32,
        max_seq_len=16,
        attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, attn_dim_head=8),
    )
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens = torch.randint(0, 32, (4, 17))
for step in range(5):
    loss = model(tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}")
model.eval()
print(model.generate(tokens[:1, :4], 6, temperature=0.0).tolist())
