"""Small networks."""

EXAMPLES = ({"steps": 100, "batch": 100, "generator_width": 16, "latent": 4, "critic_width": 8, "generator_rate": 0.003},)

ENUMERATED = ("networks",)
