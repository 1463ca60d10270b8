"""Operations on each element by itself: arithmetic, activations, special functions, comparisons."""
