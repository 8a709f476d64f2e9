"""The neural player: network, batched evaluator, checkpoints. The only part that needs torch."""
