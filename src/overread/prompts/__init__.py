"""WHAT do we say to a model? One file a prompt, rendered strictly, known by its digest."""

from overread.prompts.templates import Prompt, find_prompt, prompt_names

__all__ = ["Prompt", "find_prompt", "prompt_names"]
