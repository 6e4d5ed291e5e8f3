{% macro numbers_of(table) %}
{% for variable in table %}
recode {{ variable.name }} {% for at, number in variable.numbers %}({{ at }} = {{ number | repr }}) {% endfor %}(else = .), generate({{ variable.of_numbers }})
{% endfor %}
{% endmacro %}
* {{ notice }}
* {{ title | stata_comment }}, version {{ document.card.version | stata_comment }}. Written from release.json.
* Opens {{ document.bundle.stem }}.dta and adds variables that end in _number. They have the representative values of the
* bins, for means and regressions. The matrix figures has the released values of the criteria.
version 14
{% for file in document.table_files[1:] %}
* The same for {{ file.named("dta") }}, saved as members_with_numbers.dta. If no other variable is in both files, this command
* gives a row for each member with the columns of its root: merge 1:m {{ member_key }} using members_with_numbers.dta
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
