"""The method: walk, dispute, resolve, and note what is proven."""
