"""Two validators held to the specifications, in a process of their own."""
