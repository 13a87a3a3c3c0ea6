"""Any program that takes a CT and a sentence and writes a mask."""
