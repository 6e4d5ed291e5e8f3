{# The script uses only base R, and only ASCII characters, because the encoding of a script depends on the machine. #}
{% macro vector(values) %}c({% for value in values %}{{ value }}{{ ", " if not loop.last }}{% endfor %}){% endmacro %}
# {{ notice }}
# {{ title | ascii_line }}, version {{ document.card.version | ascii_line }}. Written from release.json.
# source("read.R", chdir = TRUE) creates these objects:
# data: the rows, with a factor for each column; numbers: the representative values of the bins, for means and regressions;
# missing: for each column, the level that means a missing value; figures: the released values of the criteria.
{% if document.linked %}
# members, numbers_of_members and missing_of_members: the same for the members.
# merge(data, members, by = {{ document.linked.key | r }}) has a row for each member, with the columns of its root.
{% endif %}
{% for file in document.table_files %}
{% set table = "members" if file.of_members else "data" %}
{% set of = "_of_members" if file.of_members else "" %}
{{ table }} <- read.csv({{ file.named("csv") | r }}, colClasses = "character", na.strings = character(0), check.names = FALSE,
{{ " " * (table | length + 13) }}fileEncoding = "UTF-8")
{% if file.key %}
{{ table }}[[{{ file.key | r }}]] <- as.integer({{ table }}[[{{ file.key | r }}]])
{% endif %}
{% for column in file.columns %}
{% set name = column.name | r %}
{{ table }}[[{{ name }}]] <- factor({{ table }}[[{{ name }}]], levels = {{ vector(column.labels | map("r")) }}, ordered = {{ "TRUE" if column.ordered else "FALSE" }})
stopifnot(!anyNA({{ table }}[[{{ name }}]]))
attr({{ table }}[[{{ name }}]], "label") <- {{ label_of(column) | r }}
{% endfor %}
{% for name, label in further_labels.items() if not (name == weight and file.of_members) %}
{{ table }}[[{{ name | r }}]] <- as.numeric({{ table }}[[{{ name | r }}]])
attr({{ table }}[[{{ name | r }}]], "label") <- {{ label | r }}
{% endfor %}
numbers{{ of }} <- list()
{% for column in file.columns if column.bins | selectattr("number", "ne", none) | list %}
numbers{{ of }}[[{{ column.name | r }}]] <- setNames(c({% for bin in column.bins %}{{ "NA" if bin.number is none else bin.number | repr }}{{ ", " if not loop.last }}{% endfor %}), levels({{ table }}[[{{ column.name | r }}]]))
{% endfor %}
{% if document.design and document.design.weight and not file.of_members %}
{% set weight_of_rows = document.design.weight %}
{{ table }}[[{{ (weight_of_rows ~ "_number") | r }}]] <- unname(numbers[[{{ weight_of_rows | r }}]][as.character({{ table }}[[{{ weight_of_rows | r }}]])])
attr({{ table }}[[{{ (weight_of_rows ~ "_number") | r }}]], "label") <- "Design weight, the number of its class: for shares and means, not for standard errors"
{% endif %}
missing{{ of }} <- character(0)
{% for column in file.columns %}
{% for bin in column.bins if bin.missing %}
missing{{ of }}[[{{ column.name | r }}]] <- {{ bin.label | r }}
{% endfor %}
{% endfor %}
{% endfor %}
figures <- data.frame(
  criterion = {{ vector(document.criteria | map(attribute="name") | map("r")) }},
{% for name, values in figures.items() %}
  {{ name }} = c({% for value in values %}{{ "NA_real_" if value is none else value | repr }}{{ ", " if not loop.last }}{% endfor %}){{ "," if not loop.last }}
{% endfor %}
)
