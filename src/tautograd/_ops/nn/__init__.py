"""Operations of neural networks: normalisation, attention, embeddings, resampling of images."""
