"""The ledger of a build: every decision and every reply, never rewritten."""
