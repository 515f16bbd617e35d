"""Many texts that differ little, validated together: for speed only, held to one at a time."""
