"""Label Studio: cases as its tasks, and what people marked there taken in again."""
