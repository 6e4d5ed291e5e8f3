"""Mutations of the doors: what is known before a charge, what a row can say unpaid, what ends, and what is never quoted."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

CONNECTIONS = "tests/test_connections.py"

OF_DOORS = (
    Mutation(
        name="connection string: another dialect is taken for a path",
        breaks="a password in a message",
        place="enclave.source:Source.of",
        old="may_hold_secret(text) and not found.is_there()",
        new="False",
        tests=(f"{CONNECTIONS}::test_a_connection_string_is_not_quoted",),
    ),
    Mutation(
        name="connection string: keys with values are shown",
        breaks="a password in a message",
        place="connections:may_hold_secret",
        old="(_PAIRS, _SECRET)",
        new="()",
        tests=(f"{CONNECTIONS}::test_a_connection_string_is_not_quoted",),
    ),
    Mutation(
        name="connection string: an argument that is one too many is quoted",
        breaks="a password in a message",
        place="cli.quiet:_unquoted",
        old="without_secrets(error.message, sys.argv[1:])",
        new="error.message",
        tests=(f"{CONNECTIONS}::test_the_command_line_quotes_none_wherever_it_stands",),
    ),
    Mutation(
        name="connection string: the path of a command is not looked at",
        breaks="a password in a message",
        place="cli.quiet:QuietCommand.invoke",
        old="checked_path(value)",
        new="pass",
        tests=(f"{CONNECTIONS}::test_no_command_quotes_one",),
    ),
)
