"""The program: its instructions (`ir`), its memory, and the passes that rewrite it."""
