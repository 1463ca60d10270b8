"""`taut doctor`: runs a script under the doctor, as a live page, on several ranks, or with fixes."""
