"""Models: recurrent layers, attention, pooling and the classifier made of them."""
