"""Classification: one class a document."""
