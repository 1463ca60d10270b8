"""transformers: one training step each of tiny BERT, Llama, T5 and ViT models."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
tokens = torch.arange(24).reshape(2, 12) % 40


def run(name, model, **inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(**inputs).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, f"{loss.item():.4f}")


torch.manual_seed(0)
bert = BertConfig(vocab_size=40, intermediate_size=64, **sizes)
run("bert", BertForSequenceClassification(bert), input_ids=tokens, labels=torch.tensor([0, 1]))
llama = LlamaConfig(vocab_size=40, intermediate_size=64, num_key_value_heads=1, **sizes)
run("llama", LlamaForCausalLM(llama), input_ids=tokens, labels=tokens)
t5 = T5Config(
    vocab_size=40, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0
)
run("t5", T5ForConditionalGeneration(t5), input_ids=tokens, labels=tokens)
vit = ViTConfig(image_size=8, patch_size=4, intermediate_size=64, **sizes)
run("vit", ViTForImageClassification(vit), pixel_values=torch.randn(2, 3, 8, 8),
    labels=torch.tensor([0, 1]))  # fmt: skip
