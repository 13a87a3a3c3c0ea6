"""Questions to readers: reply cache, limits, retries, prices."""
