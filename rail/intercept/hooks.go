package intercept
