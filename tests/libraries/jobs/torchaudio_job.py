"""torchaudio: spectrograms and filters of its Python part, and a gradient through one."""

import torch
import torchaudio

torch.manual_seed(0)
wave = torch.randn(1, 4000, requires_grad=True)
mel = torchaudio.transforms.MelSpectrogram(sample_rate=8000, n_fft=256, n_mels=16)(wave)
print(list(mel.shape), f"{mel.mean().item():.3f}")
mel.log1p().mean().backward()
print(f"{wave.grad.norm().item():.6f}")
print(f"{torchaudio.functional.resample(wave, 8000, 4000).square().mean().item():.4f}")
print(
    f"{torchaudio.transforms.MFCC(8000, 8, melkwargs={'n_fft': 256, 'n_mels': 16})(wave).mean().item():.3f}"
)
