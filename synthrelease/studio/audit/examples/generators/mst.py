"""As the library has it."""

EXAMPLES: tuple[dict[str, object], ...] = ({},)
