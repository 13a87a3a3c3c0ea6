"""The models behind the published clinical scores: optional, local, never downloaded."""
