"""What the doctor says: findings as text, page, SARIF and event files."""
