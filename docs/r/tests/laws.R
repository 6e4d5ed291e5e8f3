# The half width of one noise against its law: Pr[|Z| <= t] = 1 - 2 a^(t + 1) / (1 + a), a = exp(-1 / scale), for whole t.
half_width <- synthrelease:::half_width
for (scale in c(3, 20)) {
  laws <- data.frame(noise = "discrete Laplace", scale = scale, variance = 2 * exp(-1 / scale) / expm1(-1 / scale)^2)
  noises <- list(laws = laws, law = 1, count = 1)
  t <- half_width(noises, 1, 0, 0.95, 1)
  a <- exp(-1 / scale)
  below <- function(t) 1 - 2 * a^(t + 1) / (1 + a)
  stopifnot(below(ceiling(t)) >= 0.95, below(floor(t) - 1) < 0.95)
}

# A sum of many noises is nearly normal.
laws <- data.frame(noise = "rounded Gaussian", scale = 5, variance = 25 + 1 / 12)
many <- list(laws = laws, law = rep(1, 400), count = rep(1, 400))
width <- half_width(many, rep(1, 400), 0, 0.95, 1)
stopifnot(abs(width / (qnorm(0.975) * sqrt(400 * (25 + 1 / 12))) - 1) < 0.01)
