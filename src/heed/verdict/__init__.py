"""A verdict for anyone's scores: `heed verdict FILE`, without a study, a clone and torch."""
