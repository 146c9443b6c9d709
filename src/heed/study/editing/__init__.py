"""Commands that edit the file of a study: its comments, quotes and order are kept."""
