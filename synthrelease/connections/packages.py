"""The files of Stata, SAS and SPSS, without a look at one: how each is read, and the formats of its dates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta


@dataclass(frozen=True, kw_only=True)
class Package:
    """A file of a statistical package: how it is read, what its dates count, and which letters mark missing values.

    Attributes
    ----------
    name : for messages.
    parser : of pyreadstat.
    origin : what a date of 0 stands for.
    dates, moments, times : patterns of the formats of dates, of dates with a time, and of times of day.
    day, tick : in what dates are counted, and moments and times.
    letters : of values that are missing for a reason, in columns of numbers.
    block : bytes of which a whole file holds a whole number: it may not tell how many rows it has.
    """

    name: str
    parser: str
    origin: datetime = datetime(1960, 1, 1)
    dates: str
    moments: str
    times: str
    day: timedelta = timedelta(days=1)
    tick: timedelta = timedelta(seconds=1)
    letters: str = ""
    block: int = 1


STATA = Package(
    name="Stata", parser="dta", dates="%-?t?d.*", moments="%-?t[cC](?!HH).*", times="%-?t[cC]HH.*",
    tick=timedelta(milliseconds=1), letters="abcdefghijklmnopqrstuvwxyz",
)  # fmt: skip

SAS = Package(
    name="SAS", parser="sas7bdat", letters="_ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    dates=(
        r"(DATE|DAY|DDMMYY[BCDNPS]?|MMDDYY[BCDNPS]?|YYMMDD[BCDNPS]?|MMYY[CDNPS]?|YYMM[CDNPS]?|YYQR?[CDNPS]?|MONYY|MONNAME|MONTH|"
        r"YEAR|QTRR?|WEEKDAY|DOWNAME|JULIAN|JULDAY|WEEKDAT[EX]|WORDDAT[EX]|NLDATE|E8601DA|B8601DA|IS8601DA|DTDATE)\d*(\.\d*)?"
    ),
    moments=r"(DATETIME|DATEAMPM|MDYAMPM|NLDATM|E8601D[TNZ]|B8601D[TNZ]|IS8601D[TNZ])\d*(\.\d*)?",
    times=r"(TIME|TIMEAMPM|TOD|HHMM|E8601TM|B8601TM|IS8601TM)\d*(\.\d*)?",
)  # fmt: skip

TRANSPORT = replace(SAS, name="SAS transport", parser="xport", block=80)

SPSS = Package(
    name="SPSS", parser="sav/zsav", origin=datetime(1582, 10, 14), day=timedelta(seconds=1),
    dates=r"(DATE|ADATE|EDATE|JDATE|SDATE|QYR|MOYR|WKYR)\d*", moments=r"(DATETIME|YMDHMS)\d*(\.\d*)?", times=r"TIME\d*(\.\d*)?",
)  # fmt: skip

PORTABLE = replace(SPSS, name="SPSS portable", parser="por")
