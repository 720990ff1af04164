"""The kinds of worker: one suite for what all of them promise, and one file for each."""
