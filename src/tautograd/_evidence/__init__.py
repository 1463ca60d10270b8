"""Evidence: what was verified, with what, and the figures, in one file that can be replayed.

Bottom up: `canonical` (hashes), `schema`, `files` (reading and writing), `tensors`, `sources` and
`runtime` (the facts), `targets` and `inputs` (what a name on the command line means), `job`
(run it), `gather` (write it down), `items` and `causes` (compare two), `replay`.
"""
