"""Multi-label classification: any number of a corpus's classes a document, also none.

The networks are those of a classification, and so are the parts that are not here. Each class has a
logistic output of its own, and a document has the classes whose probability is above
`labels.THRESHOLD`.
"""

BASE = "classification"
