"""A stand-in for DeepSpeed whose op builders misbehave; SIMULATED_OPS names those it offers."""

__version__ = "0.99.0"
print("deepspeed greets on stdout")
