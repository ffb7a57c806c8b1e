"""OptiTrack motion capture over the NatNet protocol."""
