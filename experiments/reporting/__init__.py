"""From stored records to verdicts, tables, figures and one page."""
