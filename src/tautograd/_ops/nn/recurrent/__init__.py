"""Recurrent layers: RNN, LSTM, GRU, their cells, and packed sequences."""
