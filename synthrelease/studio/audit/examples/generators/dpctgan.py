"""Small networks, without and with measured columns."""

EXAMPLES = (
    {"steps": 100, "batch": 100, "generator_width": 16, "latent": 4, "critic_width": 8},
    {"steps": 60, "batch": 50, "generator_width": 16, "critic_width": 4, "oversampling": 3, "clip": 3, "measured": "0.5"},
)

ENUMERATED = ("networks",)
