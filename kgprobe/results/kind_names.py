"""Names of the kinds of stored results, registered in :mod:`kgprobe.results.kinds`; imports nothing."""

MEASUREMENT, RUN, LABEL_TABLE, JUDGE, JUDGED_GRAPH, DATASET, COMPARISON, STUDY, REPORT = KIND_NAMES = (
    "measurement",
    "run",
    "label table",
    "judge",
    "judged graph",
    "data set",
    "comparison",
    "study",
    "report",
)
