"""A model behind a chat-completions endpoint."""
