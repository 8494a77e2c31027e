"""What calls return: answers, explanations, joined tables, statistics."""
