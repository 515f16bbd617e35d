"""What mask errors cost a model: generation under an engine, scored on tasks."""
