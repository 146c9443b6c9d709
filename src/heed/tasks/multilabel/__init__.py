"""Multi-label classification: any number of a corpus's classes a document, also none.

Each class has a logistic output of its own, and a document has the classes whose probability is
above `metrics.THRESHOLD`. All that is not here is that of a classification.
"""

BASE = "classification"
