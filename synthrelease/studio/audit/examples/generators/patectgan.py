"""Many teachers, and two."""

EXAMPLES = (
    {"steps": 60, "batch": 50, "generator_width": 16, "latent": 4, "critic_width": 8, "teachers": 50, "labels": 40},
    {"steps": 20, "batch": 50, "generator_width": 16, "critic_width": 8, "teachers": 2, "labels": 1, "measured": "0.9"},
)
