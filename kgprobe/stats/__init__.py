"""Statistics: proportions and means with intervals, paired comparisons, prediction-powered estimates."""
