# Answers of R's package survey on three files, for `python -m tests.benchmarks.analysts`: writes the files and answers.tsv.
#
#     Rscript tests/benchmarks/analysts.R public_data/labour_surrogate.csv.gz FOLDER

suppressMessages(library(survey))
options(survey.lonely.psu = "adjust")
arguments <- commandArgs(TRUE)
folder <- arguments[2]
answers <- file(file.path(folder, "answers.tsv"), "w")

said <- function(survey, question, fit, degrees) {
  interval <- confint(fit, df = degrees)
  last <- length(coef(fit))
  cat(sprintf("%s\t%s\t%.9g\t%.9g\t%.9g\n", survey, question, coef(fit)[last], interval[last, 1], interval[last, 2]), file = answers)
}

data(nhanes)
rows <- with(nhanes, data.frame(
  cluster = paste(SDMVSTRA, SDMVPSU), stratum = SDMVSTRA, weight = WTMEC2YR, y = HI_CHOL, sex = RIAGENDR, age = as.integer(agecat)
))
write.csv(rows, file.path(folder, "nhanes.csv"), row.names = FALSE)
design <- svydesign(id = ~cluster, strata = ~stratum, weights = ~weight, data = rows)
known <- subset(design, !is.na(y))
said("nhanes", "share y == 1 where y < 2 weighted", svymean(~y, known), degf(design))
for (s in 1:2) said("nhanes", sprintf("share y == 1 where y < 2 and sex == %d weighted", s), svymean(~y, subset(known, sex == s)), degf(design))
for (a in 2:4) said("nhanes", sprintf("share y == 1 where y < 2 and age == %d weighted", a), svymean(~y, subset(known, age == a)), degf(design))
said("nhanes", "slope y on sex where y < 2 weighted", svyglm(y ~ sex, known), degf(design))

data(yrbs)
rows <- with(yrbs, data.frame(cluster = paste(stratum, psu), stratum = stratum, weight = weight, y = qn8))
write.csv(rows, file.path(folder, "yrbs.csv"), row.names = FALSE)
design <- svydesign(id = ~cluster, strata = ~stratum, weights = ~weight, data = rows)
known <- subset(design, !is.na(y))
said("yrbs", "share y == 1 where y < 3 weighted", svymean(~ I(as.numeric(y == 1)), known), degf(design))
said("yrbs", "mean y where y < 3 weighted", svymean(~y, known), degf(design))

labour <- read.csv(arguments[1])
rows <- with(labour, data.frame(
  cluster = seq_len(nrow(labour)), weight = design_weight, y = labour_status, sex = sex, age = age, hours = hours
))
write.csv(rows, file.path(folder, "labour.csv"), row.names = FALSE)
design <- svydesign(id = ~1, weights = ~weight, data = rows)
rows <- length(design$prob) - 1
for (y in 1:2) said("labour", sprintf("share y == %d weighted", y), svymean(as.formula(sprintf("~I(as.numeric(y == %d))", y)), design), rows)
for (s in 1:2) said("labour", sprintf("share y == 2 where sex == %d weighted", s), svymean(~ I(as.numeric(y == 2)), subset(design, sex == s)), rows)
working <- subset(design, !is.na(hours))
said("labour", "mean hours where hours >= 0 weighted", svymean(~hours, working), rows)
said("labour", "slope hours on sex where hours >= 0 weighted", svyglm(hours ~ sex, working), rows)
said("labour", "ratio hours to age weighted", svyratio(~hours, ~age, working), rows)
close(answers)
