"""A vision-language model of transformers on this machine."""
