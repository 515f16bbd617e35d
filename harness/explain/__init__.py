"""Where an error lies, which keyword governs a place, and what kind of token comes there."""
