"""How an operation is declared: its record, its public function, its arguments, its checks."""
