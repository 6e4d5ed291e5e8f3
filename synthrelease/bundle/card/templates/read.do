{% macro numbers_of(table) %}
{% for variable in table %}
recode {{ variable.name }} {% for at, number in variable.numbers %}({{ at }} = {{ number | repr }}) {% endfor %}(else = .), generate({{ variable.of_numbers }})
{% endfor %}
{% endmacro %}
* {{ notice }}
* {{ title | stata_comment }}, version {{ document.card.version | stata_comment }}. Written from release.json.
* Adds to {{ document.bundle.stem }}.dta, whose variables have their labels, the numbers that stand for bins in means
* and regressions (variables that end in _number), and the released figures of the criteria as the matrix figures.
version 14
{% for file in document.table_files[1:] %}
* The same for {{ file.named("dta") }}, which it saves as members_with_numbers.dta. A row for each member, with
* the columns of its root: merge 1:m {{ member_key }} using members_with_numbers.dta (where no name is in both).
set type double
use "{{ file.named("dta") }}", clear
notes: {{ notice }}
{{ numbers_of(tables[1]) }}
save "members_with_numbers.dta", replace
{% endfor %}
use "{{ document.bundle.stem }}.dta", clear
notes: {{ notice }}
set type double
{{ numbers_of(tables[0]) }}
{% if document.weighted %}
svyset [pweight = {{ weight }}]{{ ", strata(" ~ stratum ~ ")" if stratum and not document.calibration.margins }}
{% elif design_weight %}
* Shares and means with the design weight. Their standard errors leave out the error of the synthesis: see estimates.csv.
svyset [pweight = {{ design_weight }}]{{ ", strata(" ~ stratum ~ ")" if stratum }}
{% endif %}
matrix figures = ({% for row in figures %}{% for value in row %}{{ "." if value is none else value | repr }}{{ ", " if not loop.last }}{% endfor %}{{ " \\ " if not loop.last }}{% endfor %})
matrix colnames figures = value threshold low high
matrix rownames figures = {{ rows | join(" ") }}
matrix list figures
