"""Earlier releases of the same register; its settings follow below. Example: `series.name = "Live births, yearly"`."""
