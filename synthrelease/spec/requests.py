"""Define one immutable class for the arguments of each command, for the Python function, the command line and the desk.

The module `spec.arguments` defines how the command line displays the arguments. It is a separate module, so that commands
without such a class load less code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import cleandoc, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from synthrelease.sources.paths import checked_path
from synthrelease.sources.source import Source
from synthrelease.spec.arguments import (
    Beside,
    Config,
    Data,
    Delta,
    Epsilon,
    File,
    Folder,
    From,
    Key,
    Minutes,
    Names,
    Number,
    Option,
    Public,
    Seed,
    TableName,
    Text,
    help_texts,
    names_in,
)


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """The arguments of commands that use a configuration and a table. Raises InputError if the table cannot be used."""

    config: Config
    data: Data
    table: TableName | None = None
    members: Public | None = None

    def __post_init__(self) -> None:
        self.source  # noqa: B018  # an unusable table is refused before anything is done or shown

    @property
    def source(self) -> Source:
        return Source.of(self.data, self.table, self.members)


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest(TableRequest):
    """The arguments of `release`.

    Attributes
    ----------
    data : Read this private file, files or database.
    out : Write the released files to this new folder.
    shortlist : Use only the configurations on this shortlist, which rehearse has written. By default all configurations.
    ledger : Charge this ledger of the dataset (see ledger open). [default: OUT.ledger]
    split_key : Read the secret key of a split register. [default: LEDGER.key]
    dataset : Refuse a ledger whose dataset has another name. By default the name is not compared.
    archive : Write a copy of the released folder to this new .zip file, without time stamps. By default no archive.
    rows : Refuse criteria that no table with this number of rows can meet, before anything is spent. [default: rows of the
        rehearsed file]
    nobodys : Keep no ledger, because the data are simulated. Only for the demonstration.
    """

    out: Folder
    jobs: Number = 1
    shortlist: File | None = None
    ledger: File | None = None
    split_key: File | None = None
    dataset: str | None = None
    expect_head: str | None = None
    sign: Key | None = None
    password_file: File | None = None
    archive: Annotated[Path | None, Option(metavar="ZIP")] = None
    unrehearsed: bool = False
    trust: Names = ()
    rows: Number | None = None
    nobodys: Annotated[bool, Option(hidden=True)] = False


@dataclass(frozen=True, kw_only=True)
class RehearsalRequest(TableRequest):
    """The arguments of `rehearse`.

    Attributes
    ----------
    data : Read this PUBLIC file or database, which has the columns of the private one.
    out : Write the results to this folder, and continue an unfinished rehearsal in it.
    target : Keep configurations that are accepted at least this often.
    keep : Put at most this number of configurations on the shortlist.
    minutes : Start no further attempt after this number of minutes. By default no limit.
    seed : Set the random seed. The same seed gives the same report. By default a new seed.
    noise_level : Recommend values of epsilon with which noise changes at most this share of the decisions on a round.
    nothing : Propose a plan whose probability to end without a table is at most this number.
    copies : Draw this number of synthetic tables for the statistics of utility and risk. With fewer than 2, no statistics are
        computed.
    attacks : Try attacks with this number of fits of the generator. With fewer than 4, no attacks are tried.
    adopt : Write the proposed budget and numbers of rounds to CONFIG, and keep its comments.
    accept_lost : Write the pairs of columns whose association the synthetic tables lost into [not_promised] of the acceptance
        file, and keep its comments. Then `release` no longer refuses the shortlist because of these pairs.
    design : Make no attempts. Instead, draw samples of PUBLIC and delete answers as [design] states, and show the errors of
        each intended question due to sampling, missing answers and noise.
    width : Stop the attempts of a configuration when the interval for its share of accepted attempts is no wider than this.
    """

    data: Public
    out: Folder
    jobs: Number = 1
    target: Annotated[float, Option(least=0.001, most=0.999)] = 0.1
    keep: Number = 10
    minutes: Minutes | None = None
    seed: Seed | None = None
    noise_level: Annotated[float, Option(least=0.001, most=0.499)] = 0.05
    nothing: Annotated[float, Option(least=0.0001, most=0.9)] = 0.05
    copies: Annotated[int, Option(least=0)] = 3
    attacks: Annotated[int, Option(least=0)] = 100
    quasi_identifiers: Names | None = None
    adopt: bool = False
    accept_lost: bool = False
    design: bool = False
    width: Annotated[float, Option(hidden=True)] = 0.25


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest(TableRequest):
    """The arguments of `compare`.

    Attributes
    ----------
    data : Read this PUBLIC file or database, which has the columns of the private one.
    method : Compare with this method: swapping, sequential, dami or independent. May be repeated. By default all methods.
    out : Write all statistics to this new JSON file. By default no file.
    shortlist : Use only the configurations on this shortlist. By default all configurations.
    copies : Draw this number of tables with each method. With fewer than 2, no statistics of utility are computed.
    swap : Swap the values of these columns together. By default a column that identifies persons.
    swap_key : Swap between records with equal values in these columns. By default a column that depends on --swap.
    swap_rate : Select each record for swapping with this probability.
    seed : Set the random seed. The same seed gives the same statistics.
    """

    data: Public
    method: Annotated[tuple[str, ...], Option(metavar="NAME")] = ()
    out: File | None = None
    shortlist: File | None = None
    copies: Number = 3
    quasi_identifiers: Names | None = None
    swap: Names | None = None
    swap_key: Names | None = None
    swap_rate: float = 0.05
    seed: Seed = 1
    jobs: Number = 1


@dataclass(frozen=True, kw_only=True)
class AllocationRequest(TableRequest):
    """The arguments of `allocate`.

    Attributes
    ----------
    data : Read this PUBLIC file or database, which has the columns of the private one.
    total : Divide this epsilon, which is the total of the release. By default the total in the configuration.
    rows : Assume at most this number of rows in the private file. By default the number of rows of --data.
    minutes : Start no further step after this number of minutes.
    seed : Set the random seed. The same seed gives the same result, unless --minutes ends the search early.
    """

    data: Public
    total: Epsilon | None = None
    rows: Number | None = None
    minutes: Minutes = 6
    seed: Seed = 1
    jobs: Number = 1


@dataclass(frozen=True, kw_only=True)
class DraftRequest:
    """The arguments of `init`.

    Attributes
    ----------
    name : Draft a release with this name. Both files get this name.
    public : Read this PUBLIC file or database, which has the same columns as the private one. By default the draft is made from
        --scout.
    scout : Draft from this folder of a scout, if there is no public file. Cannot be used with other options than --into. By
        default the draft is made from --from.
    codebook : Read the meaning of columns and codes from this file: JSON, CSV with column,code,label, or a DDI codebook (XML),
        which also states the positions of columns in a fixed-width file. By default no codebook.
    only : Draft only these columns, such as A,B. By default all columns.
    leave_out : Leave these columns out, such as A,B. By default none.
    unit : State how rows belong to persons. row: every row is a different person. KEY: the column that identifies the person; K
        rows of each person are kept (default 1). By default the draft asks.
    epsilon : Limit the epsilon of the release. By default 2, or more for a file with few rows.
    pure : Draft a release with delta 0. Such a release needs a larger epsilon (at most 5) or preserves weaker associations. By
        default delta is 1e-9.
    members : Read the members of these rows from this PUBLIC file (needs --key). By default no members.
    key : Join rows and members by this column. Both files have it, or a single file contains rows and members. By default no
        members.
    areas : Draft these columns as nested areas, the largest areas first, such as region>municipality. By default no nested
        areas.
    important : Measure pairs of these columns first, and draft a criterion for them. By default no column has priority.
    into : Write into the folders configs and acceptance inside this folder.
    """

    name: Annotated[str, Option(metavar="NAME", positional=True)]
    public: From = ""
    scout: Folder | None = None
    codebook: File | None = None
    table: TableName | None = None
    only: Names | None = None
    leave_out: Names = ()
    unit: Annotated[str | None, Option(metavar="row|KEY[:K]")] = None
    epsilon: Annotated[str | None, Option(metavar="E")] = None
    pure: bool = False
    members: Beside | None = None
    key: Annotated[str | None, Option(metavar="COLUMN")] = None
    areas: Annotated[str | None, Option(metavar="A>B")] = None
    important: Names = ()
    into: Folder = Path(".")


@dataclass(frozen=True, kw_only=True)
class ScoutRequest:
    """The arguments of `scout`.

    Attributes
    ----------
    codebook : Read this public codebook: JSON, CSV with column,code,label,kind,min,max,format, or a DDI codebook (XML).
    data : Read this private file, these files or this database.
    ledger : Charge this ledger of the dataset (see ledger open). Its remaining budget must be at least the cap.
    cap : Set the total epsilon of the scout and the release.
    delta : Set the total delta of the scout and the release, such as 1e-9. With 0, every column needs codes or bounds.
    rows : State the public number of rows. With --unit KEY, state the public number of persons. A number that is too small for
        the noise is refused before the charge.
    unit : State how rows belong to persons. row: every row is a different person. KEY: the column that identifies the person;
        one row of each person is counted.
    out : Write the scout to this new folder.
    first_by : Name the columns that order the rows of a person, or write random. With random, the scout and the release may
        draw different rows; otherwise, they use the same rows. By default none (only with --unit row).
    only : Count only these columns of the codebook, such as A,B. By default all columns.
    leave_out : Leave these columns out, such as A,B. By default none.
    title : Set the title of the register. By default the name of the codebook.
    delimiter : Set the separator between two cells of a CSV file.
    encoding : Set the encoding of a CSV file, in the same way as [input] encoding.
    decimal : Set the decimal sign of numbers that are written as text.
    rho : Set the cost of the scout as a value of rho. By default about 6% of the rho of the cap.
    tests : Reserve this epsilon for the tests and criterion values of the release. By default 12% of --cap. With --delta 0, it
        is reserved for the whole release, and the default is 80%.
    dataset : Refuse a ledger whose dataset has another name. By default the name is not compared.
    """

    codebook: Annotated[Path, Option(metavar="CODEBOOK", positional=True)]
    data: Data
    ledger: File
    cap: Epsilon
    delta: Delta
    rows: Number
    unit: Annotated[str, Option(metavar="row|KEY")]
    out: Folder
    first_by: Names = ()
    only: Names | None = None
    leave_out: Names = ()
    title: Text | None = None
    delimiter: Annotated[str, Option(metavar="CHARACTER")] = ","
    encoding: Annotated[str, Option(metavar="ENCODING")] = "utf-8"
    decimal: Annotated[str, Option(metavar="SIGN")] = "."
    rho: Annotated[str | None, Option(metavar="RHO")] = None
    tests: Epsilon | None = None
    table: TableName | None = None
    dataset: str | None = None
    expect_head: str | None = None


Function = TypeVar("Function", bound=Callable[..., Any])
Request = TypeVar("Request", bound=TableRequest)


def described_by(kind: type[TableRequest]) -> Callable[[Function], Function]:
    """Return a decorator that adds the help texts of a request to a docstring, as descriptions of parameters."""

    def described(function: Function) -> Function:
        texts = help_texts(kind)
        lines = "".join(f"{name} : {texts[name]}\n" for name in signature(function).parameters if name in texts)
        function.__doc__ = cleandoc(function.__doc__ or "").replace("----------\n", f"----------\n{lines}", 1)
        return function

    return described


def requested(kind: type[Request], arguments: Mapping[str, Any]) -> Request:
    """Create the request from the arguments of a Python function: paths may be strings, and names any sequence.

    Raises
    ------
    InputError : if a string cannot be a path.
    """
    values = {name: arguments[name] for name in kind.__dataclass_fields__ if name in arguments}
    for name, hint in get_type_hints(kind).items():
        types, value = (hint, *get_args(hint)), values.get(name)
        if value is not None and Path in types and Source not in types:
            values[name] = checked_path(value)
        elif value is not None and any(get_origin(part) is tuple for part in types):
            values[name] = names_in(value) if isinstance(value, str) else tuple(value)
    return kind(**values)
