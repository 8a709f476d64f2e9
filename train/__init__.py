"""Training: self-play, samples, replay, learner and the AlphaZero loop that ties them."""
